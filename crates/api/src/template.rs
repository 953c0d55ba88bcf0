//! A set's template in all forms of the documents (A3), with Porch's messages.

use model::{
    FunctionTemplate, InjectorTemplate, MapExpr, NameError, PackageContextTemplate, PackageName,
    Problem, RepositoryName, Template,
};
use serde_json::Value;

use crate::fields::{FieldReader, name};
use crate::labels::check_labels;
use crate::pipeline::read_function;
use crate::shape::{CONTEXT, CONTEXT_EXPRS, DOWNSTREAM, INJECTORS, PAIRS};
use crate::variant::{Policies, RESERVED};

pub(crate) fn read_template(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Template {
    let policies = Policies::read(fields, problems);
    let mut template = Template {
        adoption: policies.adoption,
        deletion: policies.deletion,
        conflict_policy: policies.conflict,
        proposed: policies.proposed,
        strategy: policies.strategy,
        labels: fields.strings("labels"),
        annotations: fields.strings("annotations"),
        ..Template::default()
    };
    check_labels(fields, problems);
    read_downstream(fields, &mut template, problems);
    template.label_exprs = read_map_exprs(fields, "labelExprs", problems);
    template.annotation_exprs = read_map_exprs(fields, "annotationExprs", problems);
    template.context = read_context(fields, problems);
    template.injectors = read_injectors(fields, problems);
    if let Some(pipeline) = fields.child("pipeline") {
        template.validators = read_functions(&pipeline, "validators", problems);
        template.mutators = read_functions(&pipeline, "mutators", problems);
    }
    template
}

/// `downstream`, or the older `downstreamExprs` and `downstreamExpr`.
fn read_downstream(fields: &FieldReader<'_>, template: &mut Template, problems: &mut Vec<Problem>) {
    if let Some(downstream) = fields.child("downstream") {
        template.repo = downstream.owned("repo");
        template.repo_expr = downstream.owned("repoExpr");
        template.package = downstream.owned("package");
        template.package_expr = downstream.owned("packageExpr");
    }
    for key in ["downstreamExprs", "downstreamExpr"] {
        if !fields.has_shape(key, DOWNSTREAM, problems) {
            continue;
        }
        if let Some(old) = fields.child(key) {
            template.repo_expr = template.repo_expr.take().or_else(|| old.owned("repoExpr"));
            template.package_expr = template
                .package_expr
                .take()
                .or_else(|| old.owned("packageExpr"));
        }
    }
    let path = fields.path();
    for (word, given, fine) in [
        ("repo", &template.repo, as_repository as fn(&str) -> _),
        ("package", &template.package, as_package),
    ] {
        if let Some(text) = given {
            let field = format!("{path}.downstream.{word}");
            let _: Option<()> = name(problems, &field, text, fine);
        }
    }
    let both = [
        (
            "repo",
            template.repo.is_some() && template.repo_expr.is_some(),
        ),
        (
            "package",
            template.package.is_some() && template.package_expr.is_some(),
        ),
    ];
    for (word, _) in both.into_iter().filter(|(_, both)| *both) {
        problems.push(Problem::new(
            format!("{path}.downstream.{word}"),
            format!(
                "{path} may specify only one of `downstream.{word}` and `downstream.{word}Expr`"
            ),
        ));
    }
}

fn as_repository(text: &str) -> Result<(), NameError> {
    RepositoryName::parse(text).map(drop)
}

fn as_package(text: &str) -> Result<(), NameError> {
    PackageName::parse(text).map(drop)
}

fn read_map_exprs(
    fields: &FieldReader<'_>,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Vec<MapExpr> {
    if !fields.has_shape(key, PAIRS, problems) {
        return Vec::new();
    }
    let entries = fields.one_or_many(key);
    entries
        .iter()
        .map(|entry| read_map_expr(entry, problems))
        .collect()
}

fn read_map_expr(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> MapExpr {
    let path = entry.path();
    for (plain, expr) in [("key", "keyExpr"), ("value", "valueExpr")] {
        let given = (entry.raw(plain).is_some(), entry.raw(expr).is_some());
        let what = match given {
            (true, true) => format!("{path} may specify only one of `{plain}` and `{expr}`"),
            (false, false) => format!("{path} must specify either `{plain}` or `{expr}`"),
            _ => continue,
        };
        problems.push(Problem::new(path, what));
    }
    let text = |key: &str| entry.raw(key).and_then(Value::as_str).map(str::to_owned);
    MapExpr {
        key: text("key"),
        key_expr: text("keyExpr"),
        value: text("value"),
        value_expr: text("valueExpr"),
    }
}

/// `packageContext`, plain as in the earliest document too, and its `packageContextExprs`.
fn read_context(
    fields: &FieldReader<'_>,
    problems: &mut Vec<Problem>,
) -> Option<PackageContextTemplate> {
    let mut out = PackageContextTemplate::default();
    if let Some(context) = fields.child("packageContext") {
        let fine = fields.has_shape("packageContext", CONTEXT, problems);
        if fine && CONTEXT.is_plain(context.value()) {
            out.data = fields.strings("packageContext");
        } else if fine {
            out.data = context.strings("data");
            out.data_exprs = read_map_exprs(&context, "dataExprs", problems);
            out.remove_keys = context.texts("removeKeys");
            out.remove_key_exprs = context.texts("removeKeyExprs");
            out.create = context.flag("create");
        }
    }
    if fields.has_shape("packageContextExprs", CONTEXT_EXPRS, problems)
        && let Some(old) = fields.child("packageContextExprs")
    {
        let pairs = read_map_exprs(&old, "dataExprs", problems);
        out.data_exprs.extend(pairs);
        out.remove_key_exprs.extend(old.texts("removeKeyExprs"));
    }
    reserved(fields, &out, problems);
    (out != PackageContextTemplate::default() || fields.raw("packageContext").is_some())
        .then_some(out)
}

/// Keys that belong to the package are an error of the set (S4).
fn reserved(
    fields: &FieldReader<'_>,
    context: &PackageContextTemplate,
    problems: &mut Vec<Problem>,
) {
    let path = fields.field("packageContext");
    for word in RESERVED {
        for (key, found) in [
            ("data", context.data.contains_key(word)),
            ("removeKeys", context.remove_keys.iter().any(|k| k == word)),
            (
                "dataExprs",
                context
                    .data_exprs
                    .iter()
                    .any(|e| e.key.as_deref() == Some(word)),
            ),
        ] {
            if found {
                let field = format!("{path}.{key}");
                problems.push(Problem::new(
                    &field,
                    format!("{field}: must not contain the key {word:?}"),
                ));
            }
        }
    }
}

/// `injectors` and the older `injectorExprs`, in this order.
fn read_injectors(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Vec<InjectorTemplate> {
    let fine = ["injectors", "injectorExprs"].map(|key| fields.has_shape(key, INJECTORS, problems));
    if fine.contains(&false) {
        return Vec::new();
    }
    let entries = fields.one_or_many("injectors").into_iter();
    entries
        .chain(fields.one_or_many("injectorExprs"))
        .map(|entry| {
            let path = entry.path();
            let what = match (entry.text("name"), entry.text("nameExpr")) {
                (Some(_), Some(_)) => Some("may specify only one of `name` and `nameExpr`"),
                (None, None) => Some("must specify either `name` or `nameExpr`"),
                _ => None,
            };
            if let Some(what) = what {
                problems.push(Problem::new(path, format!("{path} {what}")));
            }
            InjectorTemplate {
                group: entry.owned("group"),
                version: entry.owned("version"),
                kind: entry.owned("kind"),
                name: entry.owned("name"),
                name_expr: entry.owned("nameExpr"),
                group_expr: entry.owned("groupExpr"),
                version_expr: entry.owned("versionExpr"),
                kind_expr: entry.owned("kindExpr"),
            }
        })
        .collect()
}

fn read_functions(
    pipeline: &FieldReader<'_>,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Vec<FunctionTemplate> {
    let entries = pipeline.list(key);
    entries
        .iter()
        .map(|entry| {
            let function = read_function(entry);
            let path = entry.path();
            if function.image.is_none() && function.exec.is_none() {
                let field = format!("{path}.image");
                problems.push(Problem::new(&field, format!("{field} must not be empty")));
            }
            if function.name.contains('.') {
                let field = format!("{path}.name");
                problems.push(Problem::new(
                    &field,
                    format!("{field} must not contain '.'"),
                ));
            }
            let config_map_exprs = read_map_exprs(entry, "configMapExprs", problems);
            FunctionTemplate {
                function,
                config_map_exprs,
            }
        })
        .collect()
}
