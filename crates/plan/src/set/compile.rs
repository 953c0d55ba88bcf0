//! Templates with their expressions compiled, once per (uid, generation) (S4).

use expr::{Declared, Env, MAX_PATTERNS, Program};
use model::{MapExpr, Problem, Template, VariantSetSpec};

/// Keys of the package context that belong to the package (R13, S4).
pub(super) const RESERVED: [&str; 2] = ["name", "package-path"];

/// What all expressions of a set together may be long, in bytes: to read them is what accepting a set costs.
const MAX_TEXTS: usize = 64 << 10;

/// A text that is plain, computed, or not given.
#[derive(Debug, Clone)]
pub(super) enum Text {
    Absent,
    Plain(String),
    Computed { program: Program, field: String },
}

/// A key and a value.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) key: Text,
    pub(super) value: Text,
}

/// One injector.
#[derive(Debug, Clone)]
pub(super) struct Injector {
    pub(super) group: Text,
    pub(super) version: Text,
    pub(super) kind: Text,
    pub(super) name: Text,
}

/// One target's template.
#[derive(Debug, Clone)]
pub(super) struct CompiledTemplate {
    pub(super) repo: Text,
    pub(super) package: Text,
    pub(super) labels: Vec<Pair>,
    pub(super) annotations: Vec<Pair>,
    pub(super) data: Vec<Pair>,
    pub(super) remove_keys: Vec<Text>,
    pub(super) mutators: Vec<Vec<Pair>>,
    pub(super) validators: Vec<Vec<Pair>>,
    pub(super) injectors: Vec<Injector>,
}

/// All templates of a set, by target; `None` for a target without one. They are to be compiled on
/// a thread with a large stack, as everything that runs expressions.
#[derive(Debug, Clone)]
pub struct Compiled {
    pub(super) templates: Vec<Option<CompiledTemplate>>,
}

impl Compiled {
    /// Compiles all expressions of a set and finds what is wrong with its templates.
    ///
    /// # Errors
    /// All problems, each with its field's path and its place in the expression.
    pub fn of(spec: &VariantSetSpec) -> Result<Self, Vec<Problem>> {
        let mut compiler = Compiler::new();
        let templates = spec
            .targets
            .iter()
            .enumerate()
            .map(|(i, target)| {
                let template = target.template.as_ref()?;
                let path = format!("spec.targets[{i}].template");
                Some(compiler.template(&path, template))
            })
            .collect();
        if compiler.problems.is_empty() {
            Ok(Self { templates })
        } else {
            Err(compiler.problems)
        }
    }
}

struct Compiler {
    repo_env: Env,
    env: Env,
    length: usize,
    weight: u64,
    problems: Vec<Problem>,
}

/// The variables of `downstream.repoExpr`, and those of every other expression (R150–R153).
pub(super) fn environment() -> (Env, Env) {
    let repo = Env::default()
        .with("repoDefault", Declared::Text)
        .with("packageDefault", Declared::Text)
        .with("upstream", Declared::Dyn)
        .with("target", Declared::Dyn)
        .hint("repo", "it is called repoDefault now")
        .hint("package", "it is called packageDefault now")
        .hint("repository", "it is not available in downstream.repoExpr");
    let rest = repo.clone().with("repository", Declared::Dyn);
    (repo, rest)
}

impl Compiler {
    fn new() -> Self {
        let (repo_env, env) = environment();
        Self {
            repo_env,
            env,
            length: 0,
            weight: 0,
            problems: Vec::new(),
        }
    }

    fn template(&mut self, path: &str, template: &Template) -> CompiledTemplate {
        let field = |name: &str| format!("{path}.{name}");
        let repo_env = self.repo_env.clone();
        let repo = self.text(
            &repo_env,
            field("downstream.repoExpr"),
            template.repo.as_ref(),
            template.repo_expr.as_ref(),
        );
        let package = self.either(
            field("downstream.packageExpr"),
            template.package.as_ref(),
            template.package_expr.as_ref(),
        );
        let context = template.context.clone().unwrap_or_default();
        self.reserved(path, &context);
        let remove_keys = context
            .remove_key_exprs
            .iter()
            .enumerate()
            .map(|(i, expr)| {
                let field = format!("{path}.packageContext.removeKeyExprs[{i}]");
                self.either(field, None, Some(expr))
            })
            .collect();
        CompiledTemplate {
            repo,
            package,
            labels: self.pairs(&field("labelExprs"), &template.label_exprs),
            annotations: self.pairs(&field("annotationExprs"), &template.annotation_exprs),
            data: self.pairs(&field("packageContext.dataExprs"), &context.data_exprs),
            remove_keys,
            mutators: self.functions(&field("pipeline.mutators"), &template.mutators),
            validators: self.functions(&field("pipeline.validators"), &template.validators),
            injectors: self.injectors(path, template),
        }
    }

    fn injectors(&mut self, path: &str, template: &Template) -> Vec<Injector> {
        template
            .injectors
            .iter()
            .enumerate()
            .map(|(i, t)| {
                let at = |name: &str| format!("{path}.injectors[{i}].{name}");
                Injector {
                    group: self.either(at("groupExpr"), t.group.as_ref(), t.group_expr.as_ref()),
                    version: self.either(
                        at("versionExpr"),
                        t.version.as_ref(),
                        t.version_expr.as_ref(),
                    ),
                    kind: self.either(at("kindExpr"), t.kind.as_ref(), t.kind_expr.as_ref()),
                    name: self.either(at("nameExpr"), t.name.as_ref(), t.name_expr.as_ref()),
                }
            })
            .collect()
    }

    fn functions(&mut self, path: &str, functions: &[model::FunctionTemplate]) -> Vec<Vec<Pair>> {
        functions
            .iter()
            .enumerate()
            .map(|(i, f)| self.pairs(&format!("{path}[{i}].configMapExprs"), &f.config_map_exprs))
            .collect()
    }

    fn pairs(&mut self, path: &str, pairs: &[MapExpr]) -> Vec<Pair> {
        pairs
            .iter()
            .enumerate()
            .map(|(i, pair)| {
                let at = |name: &str| format!("{path}[{i}].{name}");
                if pair.key.is_none() && pair.key_expr.is_none() {
                    self.problems.push(Problem::new(
                        format!("{path}[{i}]"),
                        format!("{path}[{i}] must specify one of `key` and `keyExpr`"),
                    ));
                }
                Pair {
                    key: self.either(at("keyExpr"), pair.key.as_ref(), pair.key_expr.as_ref()),
                    value: self.either(
                        at("valueExpr"),
                        pair.value.as_ref(),
                        pair.value_expr.as_ref(),
                    ),
                }
            })
            .collect()
    }

    fn either(&mut self, field: String, plain: Option<&String>, expr: Option<&String>) -> Text {
        let env = self.env.clone();
        self.text(&env, field, plain, expr)
    }

    /// An expression takes precedence over a plain value (R140).
    fn text(
        &mut self,
        env: &Env,
        field: String,
        plain: Option<&String>,
        expr: Option<&String>,
    ) -> Text {
        let Some(expr) = expr.filter(|e| !e.is_empty()) else {
            return plain.map_or(Text::Absent, |text| Text::Plain(text.clone()));
        };
        let before = self.length;
        self.length = before.saturating_add(expr.len());
        if self.length > MAX_TEXTS {
            // The first that goes beyond is told, and the others are not read either.
            if before <= MAX_TEXTS {
                let what = format!(
                    "{field}: all expressions of a set together may be {MAX_TEXTS} bytes long, and with this one they are longer"
                );
                self.problems.push(Problem::new(field, what));
            }
            return Text::Absent;
        }
        match Program::compile(expr, env) {
            Ok(program) => {
                let before = self.weight;
                self.weight = before.saturating_add(program.weight());
                if self.weight > MAX_PATTERNS && before <= MAX_PATTERNS {
                    let what = format!(
                        "{field}: the patterns of all expressions of a set together may weigh {MAX_PATTERNS}, and with this \
                         one's they weigh more: repeat less in them"
                    );
                    self.problems.push(Problem::new(field.clone(), what));
                }
                Text::Computed { program, field }
            }
            Err(error) => {
                let what = format!("{field}: {error}");
                self.problems.push(Problem::new(field, what));
                Text::Absent
            }
        }
    }

    fn reserved(&mut self, path: &str, context: &model::PackageContextTemplate) {
        let data = context.data.keys().map(|key| ("data", key));
        let exprs = context
            .data_exprs
            .iter()
            .filter_map(|e| e.key.as_ref())
            .map(|key| ("dataExprs", key));
        let removed = context.remove_keys.iter().map(|key| ("removeKeys", key));
        for (list, key) in data.chain(exprs).chain(removed) {
            if RESERVED.contains(&key.as_str()) {
                let field = format!("{path}.packageContext.{list}");
                let what = format!("{field}: must not contain the key \"{key}\"");
                self.problems.push(Problem::new(field, what));
            }
        }
    }
}
