//! W1's upstream package: twelve files of about 8 KB with comments, a pipeline of three functions
//! and one required injection point; v2 changes an image, adds a file and deletes a field.

use std::collections::BTreeMap;
use std::path::Path;

use super::{FanoutArgs, Result, Workload};

/// The files of a revision.
pub(super) type Files = BTreeMap<String, String>;

/// The upstream package of a run at revision 1 or 2.
pub(super) fn upstream(args: &FanoutArgs, revision: u32) -> Result<Files> {
    match (args.workload, &args.packages) {
        (Workload::W1, _) => Ok(w1(revision)),
        (Workload::W0, None) => Ok(w0(revision)),
        (Workload::W0, Some(folder)) => recorded(&folder.join(format!("app-v{revision}"))),
    }
}

fn recorded(folder: &Path) -> Result<Files> {
    let failed = |e: std::io::Error| format!("read {}: {e}", folder.display());
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, std::fs::read_to_string(entry.path()).map_err(failed)?);
    }
    Ok(files)
}

/// W1 at revision 1 or 2.
fn w1(revision: u32) -> Files {
    let mut files = Files::new();
    files.insert("Kptfile".to_owned(), KPTFILE.to_owned());
    files.insert("package-context.yaml".to_owned(), CONTEXT.to_owned());
    files.insert("setters.yaml".to_owned(), SETTERS.to_owned());
    files.insert("site.yaml".to_owned(), SITE.to_owned());
    files.insert(
        "README.md".to_owned(),
        "# bench\n\nA package to measure with.\n".to_owned(),
    );
    for i in 0..4 {
        files.insert(format!("deployment-{i}.yaml"), deployment(i, revision));
    }
    for i in 0..3 {
        files.insert(format!("config-{i}.yaml"), config(i, revision));
    }
    if revision > 1 {
        files.insert("added.yaml".to_owned(), config(9, revision));
    }
    files
}

/// A package of sixty files, with a pipeline.
pub(super) fn wide() -> Files {
    let mut files = Files::new();
    for (path, text) in [
        ("Kptfile", KPTFILE),
        ("package-context.yaml", CONTEXT),
        ("setters.yaml", SETTERS),
    ] {
        files.insert(path.to_owned(), text.to_owned());
    }
    for i in 0..57 {
        files.insert(format!("config-{i}.yaml"), config(i, 1));
    }
    files
}

/// W0: the same without pipeline and injection point.
fn w0(revision: u32) -> Files {
    let mut files = w1(revision);
    let kptfile = KPTFILE.split("pipeline:").next().unwrap_or_default();
    files.insert("Kptfile".to_owned(), kptfile.to_owned());
    files.insert("site.yaml".to_owned(), config(8, 1));
    files
}

const KPTFILE: &str = "# A package to measure with.
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: bench
  annotations:
    config.kubernetes.io/local-config: \"true\"
info:
  description: twelve files # and comments
pipeline:
  mutators:
    # in this order
    - image: set-namespace:v0.4.5
      configPath: package-context.yaml
    - image: set-labels:v0.2.4
      configMap:
        app.kubernetes.io/part-of: bench # everywhere
    - image: apply-setters:v0.2.2
      configPath: setters.yaml
";

const CONTEXT: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: \"true\"
data:
  name: example
";

const SETTERS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: setters
  annotations:
    config.kubernetes.io/local-config: \"true\"
data:
  replicas: \"3\"
  tag: 1.4.2
";

const SITE: &str = "# Filled in by the platform.
apiVersion: v1
kind: ConfigMap
metadata:
  name: site
  annotations:
    config.kubernetes.io/local-config: \"true\"
    kpt.dev/config-injection: required
data:
  region: none # replaced
";

fn deployment(i: u32, revision: u32) -> String {
    let proxy = if revision > 1 { "1.0.0" } else { "0.9.0" };
    let extra = if revision > 1 {
        ""
    } else {
        "      terminationGracePeriodSeconds: 30 # dropped in v2\n"
    };
    format!(
        "# deployment {i}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{i} # do not rename
  namespace: example
  labels:
    app: web-{i}
spec:
  replicas: 3 # kpt-set: ${{replicas}}
  selector:
    matchLabels:
      app: web-{i}
  template:
    metadata:
      labels:
        app: web-{i}
    spec:
{extra}      containers:
      # the program itself
      - name: web
        image: registry.example.com/bench/web:1.4.2 # kpt-set: registry.example.com/bench/web:${{tag}}
        args:
        - --port=8080
        - --log-level=info
        ports:
        - name: http
          containerPort: 8080
          protocol: TCP
        env:
        - name: DB_HOST
          value: db.example.svc
        - name: CACHE
          value: \"true\" # quoted on purpose
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
      # and its proxy
      - name: proxy
        image: registry.example.com/mesh/proxy:{proxy}
        ports:
        - containerPort: 15090
"
    )
}

fn config(i: u32, revision: u32) -> String {
    let size = 10 + revision;
    format!(
        "# settings {i}
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{i}
  namespace: example
data:
  # how loud
  LOG_LEVEL: info
  FEATURES: \"cart,search\"
  SIZE: \"{size}\" # grows
  app.properties: |
    color=blue
    mode=fast
"
    )
}
