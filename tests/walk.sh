#!/usr/bin/env bash
# The walk with unmodified kubectl and git against `offshoot up`: every claim is checked.
#   tests/walk.sh [OFFSHOOT]
# Says what it skipped where kubectl is missing; ends with "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
offshoot=$(realpath "${1:-target/release/offshoot}")
examples=$PWD/examples/packages
passed=0 failed=0

command -v kubectl >/dev/null || { echo "skipped: there is no kubectl here"; exit 0; }
work=$(mktemp -d)
export KUBECONFIG=$work/data/kubeconfig HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$work/gitconfig
git config --file "$work/gitconfig" user.name Ada
git config --file "$work/gitconfig" user.email ada@example.com
git config --file "$work/gitconfig" init.defaultBranch main

server=
start() {
    rm -f "$KUBECONFIG"
    "$offshoot" up --data "$work/data" --sync-seconds 1 "$@" >"$work/up.out" 2>>"$work/up.err" &
    server=$!
    for _ in $(seq 200); do [ -s "$KUBECONFIG" ] && return; sleep 0.05; done
    echo "the server did not start"; cat "$work/up.err"; exit 1
}
stop() { kill -TERM "$server" 2>/dev/null; wait "$server"; }
finish() { kill -KILL "$server" 2>/dev/null; rm -rf "$work"; }
trap finish EXIT

ok() { passed=$((passed + 1)); printf 'ok   %s\n' "$1"; }
bad() { failed=$((failed + 1)); printf 'FAIL %s\n' "$1"; sed 's/^/     /' <<<"$2"; }
# is NAME EXPECTED COMMAND…: the command prints exactly this.
is() {
    local name=$1 want=$2 got
    shift 2
    got=$("$@" 2>&1)
    if [ "$got" = "$want" ]; then ok "$name"; else bad "$name" "$(diff <(echo "$want") <(echo "$got"))"; fi
}
# has NAME PATTERN COMMAND…: the command prints something that matches.
has() {
    local name=$1 pattern=$2 got
    shift 2
    got=$("$@" 2>&1)
    if grep -qE -- "$pattern" <<<"$got"; then ok "$name"; else bad "$name" "no /$pattern/ in: $got"; fi
}
# soon NAME COMMAND…: the command succeeds within 20 seconds.
soon() {
    local name=$1 got=
    shift
    for _ in $(seq 200); do
        if got=$("$@" 2>&1); then ok "$name"; return; fi
        sleep 0.1
    done
    bad "$name" "$got"
}
# refused NAME PATTERN COMMAND…: the command fails and says so.
refused() {
    local name=$1 pattern=$2 got
    shift 2
    if got=$("$@" 2>&1); then bad "$name" "it was not refused: $got"
    elif grep -qE -- "$pattern" <<<"$got"; then ok "$name"
    else bad "$name" "no /$pattern/ in: $got"; fi
}
field() { kubectl get "$1" "$2" -o "jsonpath=$3"; }
equals() { [ "$(field "$1" "$2" "$3")" = "$4" ]; }
gone() { ! kubectl get "$1" "$2" >/dev/null 2>&1; }
bare() { git -C "$work/$1.git" "${@:2}"; }
push() { # REPOSITORY PACKAGE TAG FROM
    [ -d "$work/checkout" ] || git clone -q "$work/$1.git" "$work/checkout"
    ( cd "$work/checkout" && git pull -q --ff-only && rm -rf "$2" && cp -r "$4" "$2" && git add -A &&
        git commit -qm "$2 $3" && git tag "$2/$3" && git push -q --tags origin HEAD )
}
repository() { # NAME DEPLOYMENT LABELS
    kubectl apply -f - >/dev/null <<YAML
apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata: {name: $1, labels: {$3}}
spec:
  deployment: $2
  git: {repo: "file://$work/$1.git", create: true, createBranch: true}
YAML
}
set_at() {
    cat <<YAML
apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: web}
spec:
  upstream: {repo: blueprints, package: web, revision: $1}
  targets:
  - repositorySelector: {matchLabels: {tier: edge}}
    template:
      labelExprs:
      - {key: region, valueExpr: "repository.labels['region']"}
      pipeline:
        mutators:
        - name: team
          image: set-annotations:v0.1.4
          configMapExprs:
          - {key: example.com/region, valueExpr: "repository.labels['region']"}
YAML
}

echo "== start, register, discover"
start
has 'the kubeconfig is private' '^600$' stat -c %a "$KUBECONFIG"
has 'version' 'Server Version: v1' kubectl version
has 'api-resources knows our kinds' 'packagevariantsets +pvset' kubectl api-resources --categories=offshoot
has 'explain' 'upstream' kubectl explain packagevariant.spec
repository blueprints false ''
repository edge-eu true 'tier: edge, region: eu'
repository edge-us true 'tier: edge, region: us'
for r in blueprints edge-eu edge-us; do
    soon "repository $r is Ready" kubectl wait --for=condition=Ready "repository/$r" --timeout=10s
done
push blueprints web v1 "$examples/commented/v1"
soon 'a pushed tag is noticed' kubectl get pkgrev blueprints.web.v1
soon 'so is the branch' kubectl get pkgrev blueprints.web.main
is 'its table' 'blueprints.web.v1 web v1 1 true Published blueprints' \
    sh -c "kubectl get pkgrev blueprints.web.v1 --no-headers | tr -s ' '"
refused 'a second server is kept out' 'in use by another offshoot' "$offshoot" up --data "$work/data"

echo "== fan out"
set_at v1 | kubectl apply -f - >/dev/null
soon 'the set is Ready' kubectl wait --for=condition=Ready pvset/web --timeout=10s
soon 'its variants are Ready' kubectl wait --for=condition=Ready pvar/web-edge-eu-web pvar/web-edge-us-web --timeout=10s
is 'a draft in each' 'edge-eu.web.packagevariant-1 Draft
edge-us.web.packagevariant-1 Draft' \
    kubectl get pkgrev --field-selector spec.lifecycle=Draft -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.lifecycle}{"\n"}{end}'
is 'refs of a draft' 'refs/heads/drafts/web/packagevariant-1
refs/heads/main' bare edge-eu for-each-ref '--format=%(refname)'
has 'the trailer says how it was made' '^kpt:\{"package":"web","workspaceName":"packagevariant-1"' \
    bare edge-eu log -1 --format=%B drafts/web/packagevariant-1
has 'the Kptfile keeps its comments' '# pinned' bare edge-eu show drafts/web/packagevariant-1:web/Kptfile
has 'and names its upstream' 'ref: web/v1' bare edge-eu show drafts/web/packagevariant-1:web/Kptfile
has 'our function comes first' 'PackageVariant.web-edge-eu-web.team.0' \
    bare edge-eu show drafts/web/packagevariant-1:web/Kptfile
has 'the function ran' 'example.com/region' bare edge-eu show drafts/web/packagevariant-1:web/deployment.yaml
has 'wide tables' 'edge-eu' kubectl get pvar -o wide
has 'describe' 'successfully ensured downstream package variant' kubectl describe pvar web-edge-eu-web
has 'describe tells what happened' 'Normal +DraftCreated' kubectl describe pvar web-edge-eu-web
has 'so does the set' 'VariantsWritten .*2 created' kubectl describe pvset web
has 'yaml' 'downstreamTargets' kubectl get pvar web-edge-eu-web -o yaml
has 'rpkg get' 'edge-eu.web.packagevariant-1 +web +packagevariant-1 +0 +false +Draft +edge-eu' "$offshoot" rpkg get

echo "== edit, propose, approve"
"$offshoot" rpkg pull edge-eu.web.packagevariant-1 "$work/mine" || bad pull ''
cp -r "$work/mine" "$work/stale"
sed -i 's/replicas: 2/replicas: 4/' "$work/mine/deployment.yaml"
is 'push' 'edge-eu.web.packagevariant-1 pushed' \
    sh -c "'$offshoot' rpkg push edge-eu.web.packagevariant-1 '$work/mine' 2>/dev/null"
refused 'a stale push' 'the object has been modified' "$offshoot" rpkg push edge-eu.web.packagevariant-1 "$work/stale"
refused 'no approval of a draft' 'only Proposed packages can be approved' \
    kubectl patch pkgrev edge-eu.web.packagevariant-1 --subresource=approval --type=merge -p '{"spec":{"lifecycle":"Published"}}'
is 'propose' 'edge-eu.web.packagevariant-1 proposed' "$offshoot" rpkg propose edge-eu.web.packagevariant-1
is 'proposed in git' 'refs/heads/main
refs/heads/proposed/web/packagevariant-1' bare edge-eu for-each-ref '--format=%(refname)'
is 'reject' 'edge-eu.web.packagevariant-1 no longer proposed for approval' "$offshoot" rpkg reject edge-eu.web.packagevariant-1
"$offshoot" rpkg propose edge-eu.web.packagevariant-1 edge-us.web.packagevariant-1 >/dev/null
is 'approve two' 'edge-eu.web.packagevariant-1 approved
edge-us.web.packagevariant-1 approved' \
    sh -c "'$offshoot' rpkg approve edge-eu.web.packagevariant-1 edge-us.web.packagevariant-1 2>'$work/summary'"
is 'and count them' '2 approved' cat "$work/summary"
is 'refs after approval' 'refs/heads/main
refs/tags/web/v1' bare edge-eu for-each-ref '--format=%(refname)'
is 'the merge commit' 'Approving package revision web/1' bare edge-eu log -1 --format=%s main
is 'it has two parents' 2 sh -c "git -C '$work/edge-eu.git' log -1 --format=%P main | wc -w"
is 'the committer' 'Package Orchestration Service <porch@kpt.dev>' bare edge-eu log -1 '--format=%cn <%ce>' main
has 'the edit is published' 'replicas: 4' bare edge-eu show web/v1:web/deployment.yaml
is 'revision and label' '1 true' field pkgrev edge-eu.web.packagevariant-1 \
    '{.spec.revision} {.metadata.labels.kpt\.dev/latest-revision}'
soon 'who approved it is told' sh -c "kubectl get events | grep -qE 'Published +packagerevision/edge-eu.web.packagevariant-1 +published as v1 by'"
refused 'a published one is not deleted' 'must be proposed for deletion' kubectl delete pkgrev edge-eu.web.packagevariant-1

echo "== upgrade"
push blueprints web v2 "$examples/commented/v2"
soon 'v2 is noticed' kubectl get pkgrev blueprints.web.v2
set_at v2 | kubectl apply -f - >/dev/null
soon 'an upgrade draft' kubectl get pkgrev edge-eu.web.packagevariant-2
soon 'Ready again' equals pvar web-edge-eu-web '{.status.conditions[?(@.type=="Ready")].status}' True
has 'the edit is in it' 'replicas: 4' bare edge-eu show drafts/web/packagevariant-2:web/deployment.yaml
has 'and the new lock' 'ref: web/v2' bare edge-eu show drafts/web/packagevariant-2:web/Kptfile
is 'its task' upgrade field pkgrev edge-eu.web.packagevariant-2 '{.spec.tasks[0].type}'

echo "== rest"
sleep 3
before=$(bare edge-eu for-each-ref; kubectl get pvset,pvar,pkgrev -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}')
sleep 3
after=$(bare edge-eu for-each-ref; kubectl get pvset,pvar,pkgrev -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}')
is 'nothing is written while nothing changes' "$before" echo "$after"

echo "== errors"
refused 'a wrong type' 'must be of type' kubectl apply -f - <<'YAML'
apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: wrong}
spec: {upstream: 7}
YAML
has 'an unknown field' 'unknown field' kubectl apply --validate=warn -f - <<'YAML'
apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: odd}
spec: {upstream: {repo: blueprints, package: nope, revision: 1}, downstream: {repo: edge-eu, package: nope}, sped: 1}
YAML
soon 'a missing upstream stalls' equals pvar odd '{.status.conditions[?(@.type=="Stalled")].status}' True
has 'and says which' 'nope' field pvar odd '{.status.conditions[?(@.type=="Stalled")].message}'
kubectl delete pvar odd --wait=true >/dev/null
refused 'a path out of the package' 'file path|must be relative' kubectl patch packagerevisionresources edge-eu.web.packagevariant-2 \
    --type=merge -p '{"spec":{"resources":{"../../etc/passwd":"x"}}}'

echo "== labels, edit, watch"
has 'label' 'labeled' kubectl label pkgrev edge-eu.web.packagevariant-2 team=web
is 'select by label' 'edge-eu.web.packagevariant-2' kubectl get pkgrev -l team=web -o 'jsonpath={.items[*].metadata.name}'
has 'edit' 'edited' env KUBE_EDITOR="sed -i s/key:.region/key:\ zone/" kubectl edit pvset web
soon 'the edit arrives' equals pvar web-edge-eu-web '{.spec.labels.zone}' eu
kubectl get pkgrev -w --no-headers >"$work/watch" 2>/dev/null & watcher=$!
soon 'a watch begins' grep -q edge-eu.web.packagevariant-2 "$work/watch"
kubectl annotate pkgrev edge-eu.web.packagevariant-2 note=seen >/dev/null
soon 'a watch sees a change' sh -c "[ \$(grep -c edge-eu.web.packagevariant-2 '$work/watch') -ge 2 ]"
kill "$watcher" 2>/dev/null

echo "== relabel, restart, rebuild"
repository edge-asia true 'tier: edge, region: asia'
soon 'a labelled repository becomes a target' kubectl get pkgrev edge-asia.web.packagevariant-1
kubectl label repository edge-asia tier=core --overwrite >/dev/null
soon 'relabelled, its draft goes' gone pkgrev edge-asia.web.packagevariant-1
all() { kubectl get pkgrev -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.lifecycle} {.spec.revision} {.status.selfLock.git.commit}{"\n"}{end}' | sort; }
before=$(all)
stop
start
is 'a restart changes nothing' "$before" all
kill -KILL "$server"; wait "$server" 2>/dev/null
start
is 'nor does a kill' "$before" all
stop
start --rebuild
soon 'rebuilt from git' kubectl get pkgrev edge-us.web.packagevariant-2
rebuilt() { [ "$(all)" = "$before" ]; }
soon 'every revision is back' rebuilt
soon 'owned as before' equals pkgrev edge-eu.web.packagevariant-2 '{.metadata.ownerReferences[0].name}' web-edge-eu-web

echo "== delete"
kubectl delete pvset web --wait=false >/dev/null
soon 'drafts go' gone pkgrev edge-eu.web.packagevariant-2
soon 'published ones are proposed for deletion' equals pkgrev edge-eu.web.packagevariant-1 '{.spec.lifecycle}' DeletionProposed
soon 'variants go last' gone pvar web-edge-eu-web
has 'in git, too' 'refs/heads/deletionProposed/web/v1' bare edge-eu for-each-ref '--format=%(refname)'
is 'del' $'edge-eu.web.packagevariant-1 deleted\nweb is still on the branch of edge-eu: offshoot rpkg del --package web --repository edge-eu removes it there, too' "$offshoot" rpkg del edge-eu.web.packagevariant-1
is 'tag and branch are gone' 'refs/heads/main' bare edge-eu for-each-ref '--format=%(refname)'
has 'metrics' 'apiserver_request_total\{verb="get"' kubectl get --raw /metrics
stop
for r in blueprints edge-eu edge-us edge-asia; do
    has "git fsck of $r" '^$' git -C "$work/$r.git" fsck --strict --no-dangling
done

printf '\n%d passed, %d failed\n' "$passed" "$failed"
if [ "$failed" -gt 0 ]; then echo "the server said:"; tail -n 40 "$work/up.err"; exit 1; fi
