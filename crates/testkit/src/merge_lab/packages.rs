//! The packages that merges begin with: a workload, its configuration, a custom resource, values and scripts.

use std::sync::LazyLock;

use super::model::{Content, Package, Yaml};

const KPTFILE: &str = "\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
info:
  # who to ask
  description: the shop # shown in lists
pipeline:
  mutators:
  # names first
  - image: set-namespace:v0.4
    configMap:
      namespace: shop
  - image: set-labels:v0.2 # pinned
    configMap:
      app: shop

  # checks

  validators:
  - image: kubeval:v0.3
";

const DEPLOYMENT: &str = "\
# Copyright The Shop Authors
# SPDX-License-Identifier: Apache-2.0
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels:
    app: web # kpt-set: ${app}
    tier: front
  annotations:
    # for the pager
    owner: team-a
spec:
  replicas: 3 # kpt-set: ${replicas}
  # rolling

  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      # --- before the start ---

      initContainers:
      - name: migrate
        image: shop/migrate:1.0
      # warms the cache
      - name: warm
        image: shop/warm:1.0
        args:
        - --all
      containers:
      # the main one
      - name: web
        image: shop/web:1.0 # kpt-set: web:${tag}
        args:
        - --port=8080 # the port below
        # quiet by default
        - --level=info
        - --workers=4
        ports:
        - containerPort: 8080
          name: http # of the service
        - containerPort: 9090
          name: metrics
        env:
        - name: MODE
          value: fast
        # who reads this?
        - name: CACHE
          value: redis # the small one
        - name: ZONE
          value: a
        resources:
          requests:
            cpu: 100m
            memory: 64Mi
          # enough in tests
          limits:
            cpu: 500m
            memory: 256Mi
            # disk is not limited
      - name: proxy
        image: envoy:1.2
        volumeMounts:
        - name: config
          mountPath: /etc/envoy
      # volumes go last
      volumes:
      - name: config
        configMap:
          name: settings
# the end of the workload
";

const SERVICE: &str = "\
# reached from outside

apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  type: ClusterIP # later: LoadBalancer
  selector:
    app: web
  ports:
  # plain
  - name: http
    port: 80
    targetPort: http
  - name: metrics
    port: 9090
    targetPort: metrics
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: web
spec:
  podSelector:
    matchLabels:
      app: web
  # who may come in
  ingress:
  - from:
    - namespaceSelector:
        matchLabels:
          team: a
    ports:
    - protocol: TCP
      port: 8080
  # and out
  policyTypes:
  - Ingress
  - Egress
";

const SETTINGS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  # logging

  level: info
  format: json # or text
  # limits

  rate: \"100\"
  burst: \"20\"

  # the start
  start.sh: |
    #!/bin/sh
    set -e
    # wait for it
    wait-for db
    exec web --config /etc/web

  app.properties: |
    a=1
    b=2

    c=3
  # nothing below
";

const THING: &str = "\
apiVersion: shop.example.com/v1
kind: Pool
metadata:
  name: pool
spec:
  # all sizes in Gi
  size: 10
  classes:
  - name: small
    cpu: 2 # two
  # the big one
  - name: big
    cpu: 8
    labels:
      # inner
      disk: ssd
  rules:
  - when: night
    then: stop
  # else
  - when: day
    then: run
  hosts:
  - a.example.com # first
  - b.example.com
  window: [mon, tue]
# last words

# about the pool
";

const VALUES: &str = "\
# Values of the chart.

# how many
replicas: 2

# the image

image:
  repository: shop/web
  tag: v1 # bumped by CI
  # never Always
  pullPolicy: IfNotPresent

service:
  port: 80
  annotations: {}
tolerations:
- key: spot
  operator: Exists
# nodes
nodeSelector:
  disk: ssd
  # end of nodes
";

const README: &str = "\
# Shop

A small shop.

## Use

1. Get it.
2. Run it.

## Limits

None that we know.
";

/// The package that every merge begins with, before its base is made of it.
pub(super) static PACKAGE: LazyLock<Package> = LazyLock::new(|| {
    let yaml = [
        ("Kptfile", KPTFILE),
        ("deployment.yaml", DEPLOYMENT),
        ("service.yaml", SERVICE),
        ("settings.yaml", SETTINGS),
        ("pool.yaml", THING),
        ("values.yaml", VALUES),
    ];
    let mut package: Package = yaml
        .into_iter()
        .map(|(path, text)| (path.to_owned(), Content::Yaml(Yaml::read(text))))
        .collect();
    let lines = README.lines().map(str::to_owned).collect();
    package.insert("README.md".to_owned(), Content::Lines(lines));
    package
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_are_written_as_they_were_read() {
        for text in [KPTFILE, DEPLOYMENT, SERVICE, SETTINGS, THING, VALUES] {
            assert_eq!(Yaml::read(text).text(), text);
        }
    }
}
