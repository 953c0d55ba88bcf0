//! What runs begin with: texts as people write them, and as nobody should.

pub(crate) mod api;

/// What stands between the parts of an input that has several.
pub(crate) const BETWEEN: &[u8] = b"\0\0\n";

const DEPLOYMENT: &str = "# a shop\napiVersion: apps/v1\nkind: Deployment # of a shop\nmetadata:\n  name: web\n  labels: {app: web}\nspec:\n  replicas: 3 # kpt-set: ${replicas}\n  template:\n    spec:\n      containers:\n      - name: main\n        image: \"x/web:1\" # kpt-set: x/web:${tag}\n        args: [--port=80, '--log=\"info\"']\n      # a proxy\n      - name: proxy\n        image: x/proxy:2\n";
const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: n\ndata:\n  a: |\n    x\n\n     y\n  b: >-\n    folded\n    text\n  c: 'it''s'\n  d: \"\\u00e9\\n\"\n---\n- 1\n- ~\n- [a, {b: c}]\n-\n  - d\n";
const ODD: &str = "%YAML 1.1\n---\na: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  ? e\n  : f\n...\n# tail\n";
const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nupstream:\n  type: git\n  git: {repo: https://x.y/z, directory: /a, ref: v1}\n  updateStrategy: resource-merge\ninfo:\n  description: one # shop\n  readinessGates:\n  - conditionType: a.b/c\npipeline:\n  mutators:\n  - image: set-namespace:v0.4.5\n    configMap:\n      namespace: n\n    selectors:\n    - kind: Deployment\n  validators:\n  - image: kubeconform:v1\n    configPath: c.yaml\nstatus:\n  conditions:\n  - type: a.b/c\n    status: \"False\"\n    reason: r\n";
const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n    annotations:\n      internal.config.kubernetes.io/path: 'a/b.yaml'\n      internal.config.kubernetes.io/index: '1'\n      config.kubernetes.io/path: x\nfunctionConfig:\n  kind: ConfigMap\n  data: {a: b}\nresults:\n- message: m\n  severity: warning\n  resourceRef: {apiVersion: v1, kind: K, name: n}\n  field: {path: a.b, currentValue: 1, proposedValue: [x]}\n  file: {path: p, index: 2}\n  tags: {t: u}\n";

fn joined(parts: &[&str]) -> Vec<u8> {
    parts
        .iter()
        .map(|part| part.as_bytes())
        .collect::<Vec<_>>()
        .join(BETWEEN)
}

pub(crate) fn texts() -> Vec<Vec<u8>> {
    let texts = [
        DEPLOYMENT,
        CONFIG,
        ODD,
        KPTFILE,
        LIST,
        "",
        "a\n",
        "{\"a\": [1, true, null]}\n",
        "a:\n  b: c\n\n\n# d\n",
    ];
    let crlf = CONFIG.replace('\n', "\r\n");
    texts
        .into_iter()
        .chain([crlf.as_str()])
        .map(|text| text.as_bytes().to_vec())
        .collect()
}

pub(crate) fn edits() -> Vec<Vec<u8>> {
    let all = texts();
    let chosen = |at: usize| {
        let byte = |factor: usize| u8::try_from(at * factor % 251).unwrap_or_default();
        [byte(1), byte(7), byte(3), byte(5)]
    };
    (0..60)
        .filter_map(|at| Some([&chosen(at)[..], all.get(at % all.len())?].concat()))
        .collect()
}

pub(crate) fn threes() -> Vec<Vec<u8>> {
    let upstream = DEPLOYMENT
        .replace("x/proxy:2", "x/proxy:3")
        .replace("replicas: 3", "replicas: 5");
    let local = DEPLOYMENT
        .replace("replicas: 3", "replicas: 4")
        .replace("      # a proxy\n", "");
    let gone = CONFIG.replace("  c: 'it''s'\n", "");
    vec![
        joined(&[DEPLOYMENT, &local, &upstream]),
        joined(&[CONFIG, &gone, &CONFIG.replace("it''s", "is")]),
        joined(&[
            KPTFILE,
            &KPTFILE.replace("name: shop", "name: store"),
            &KPTFILE.replace("v0.4.5", "v0.4.6"),
        ]),
        joined(&[ODD, CONFIG, DEPLOYMENT]),
        joined(&["", DEPLOYMENT, CONFIG]),
    ]
}

pub(crate) fn kptfiles() -> Vec<Vec<u8>> {
    let old = KPTFILE.replace("kpt.dev/v1", "kpt.dev/v1alpha2");
    let bare = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: x}\n";
    [KPTFILE, &old, bare]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

pub(crate) fn setters() -> Vec<Vec<u8>> {
    vec![
        joined(&["replicas=4\ntag=v2\n", DEPLOYMENT]),
        joined(&["app=web\nx=[1, 2]\n", DEPLOYMENT]),
        joined(&[
            "a=b\n",
            "kind: A\nargs: # kpt-set: ${a}\n- x\n- ${a}-${b} # kpt-set: ${a}-${b}\n",
        ]),
    ]
}

pub(crate) fn searches() -> Vec<Vec<u8>> {
    vec![
        joined(&["by-value=web\nput-value=shop\n", DEPLOYMENT]),
        joined(&[
            "by-value-regex=x/(.*):(.*)\nput-value=y/${1}:$2\n",
            DEPLOYMENT,
        ]),
        joined(&[
            "by-path=spec.**.name\nput-comment=kpt-set: ${a}\n",
            DEPLOYMENT,
        ]),
        joined(&[
            "by-path=metadata.labels.new\nput-value=1\nby-file-path=**/*.yaml\n",
            DEPLOYMENT,
        ]),
        joined(&[
            "by-path=spec.template.spec.containers[*].args[0]\nput-value=x: y\n",
            DEPLOYMENT,
        ]),
    ]
}

pub(crate) fn resource_lists() -> Vec<Vec<u8>> {
    [LIST, CONFIG, "", "kind: ResourceList\nitems: []\n"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}
