//go:build tools

package peer

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
