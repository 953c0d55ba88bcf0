use super::*;

fn path<'a>(schema: Schema<'a>, steps: &[&str]) -> (ListRule<'a>, Schema<'a>) {
    let (last, before) = steps.split_last().unwrap();
    let parent = before
        .iter()
        .fold(schema, |schema, step| match schema.list(step) {
            (ListRule::Unstated, _) => schema.field(step),
            (_, element) => element,
        });
    parent.list(last)
}

#[test]
fn built_in_lists_pair_by_their_keys() {
    let crds = Crds::default();
    let deployment = Schema::of("apps/v1", "Deployment", &crds);
    let (ports, _) = path(
        deployment,
        &["spec", "template", "spec", "containers", "ports"],
    );
    let ListRule::Map(keys) = ports else {
        panic!("{ports:?}")
    };
    let names: Vec<_> = keys
        .iter()
        .map(|key| (&*key.name, key.default.as_deref()))
        .collect();
    assert_eq!(names, [("containerPort", None), ("protocol", Some("TCP"))]);
    let (tolerations, _) = path(deployment, &["spec", "template", "spec", "tolerations"]);
    assert_eq!(tolerations, ListRule::Unstated);
    let custom = Schema::of("example.com/v1", "Thing", &crds);
    assert_eq!(path(custom, &["metadata", "finalizers"]).0, ListRule::Set);
    assert_eq!(path(custom, &["spec", "containers"]).0, ListRule::Unstated);
}

#[test]
fn a_crd_of_the_package_says_how_its_lists_pair() {
    let text = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              pools:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, zone]
                items:
                  type: object
                  properties:
                    zone: {type: string, default: a}
              tags:
                type: array
                x-kubernetes-list-type: set
                items: {type: string}
";
    let path_of = model::PackagePath::parse("crds/site.yaml").unwrap();
    let files = model::Files::from([(path_of, model::File::text(text))]);
    let crds = Crds::of([&files]);
    let site = Schema::of("example.com/v1", "Site", &crds);
    let ListRule::Map(keys) = path(site, &["spec", "pools"]).0 else {
        panic!()
    };
    assert_eq!(
        keys.iter()
            .map(|k| k.default.as_deref())
            .collect::<Vec<_>>(),
        [None, Some("a")]
    );
    assert_eq!(path(site, &["spec", "tags"]).0, ListRule::Set);
    assert_eq!(path(site, &["metadata", "finalizers"]).0, ListRule::Set);
    // Another version of the kind has the same keys, another kind has none.
    let next = Schema::of("example.com/v2", "Site", &crds);
    assert!(matches!(path(next, &["spec", "pools"]).0, ListRule::Map(_)));
    assert_eq!(
        path(
            Schema::of("example.com/v1", "Other", &crds),
            &["spec", "pools"]
        )
        .0,
        ListRule::Unstated
    );
}
