package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A server that can be stopped, killed and started again at the same address.
type server struct {
	t       *testing.T
	dir     string
	address string
	process *exec.Cmd
}

// Starts `$OFFSHOOT up` in a directory of its own.
func start(t *testing.T) *server {
	t.Helper()
	if os.Getenv("OFFSHOOT") == "" {
		t.Skip("OFFSHOOT names no program")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &server{t: t, dir: t.TempDir(), address: listener.Addr().String()}
	must(t, listener.Close())
	s.up()
	t.Cleanup(func() { s.end(syscall.SIGKILL) })
	return s
}

func (s *server) up() {
	s.t.Helper()
	data := filepath.Join(s.dir, "data")
	s.process = exec.Command(os.Getenv("OFFSHOOT"), "up", "--data", data, "--listen", s.address, "--audit-log", s.log())
	s.process.Stdout, s.process.Stderr = os.Stderr, os.Stderr
	must(s.t, s.process.Start())
	eventually(s.t, "the server is ready", func(ctx context.Context) error {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(data, "kubeconfig"))
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// Ends the process by a signal and waits for it.
func (s *server) end(signal os.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
	s.process = nil
}

func (s *server) restart(signal os.Signal) {
	s.t.Helper()
	s.end(signal)
	// Long enough for clients to notice that nobody listens.
	time.Sleep(1500 * time.Millisecond)
	s.up()
}

func (s *server) log() string { return filepath.Join(s.dir, "audit.jsonl") }

// A client configuration that outlives restarts: a token of the kubeconfig does not, a certificate does.
func (s *server) config(contentType string) *rest.Config {
	s.t.Helper()
	path := filepath.Join(s.dir, "operator.kubeconfig")
	if _, err := os.Stat(path); err != nil {
		command := exec.Command(os.Getenv("OFFSHOOT"), "user", "operator", "--group", "system:masters", "--data", filepath.Join(s.dir, "data"))
		command.Stderr = os.Stderr
		text, err := command.Output()
		must(s.t, err)
		must(s.t, os.WriteFile(path, text, 0o600))
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(s.t, err)
	config.ContentType, config.QPS, config.Burst = contentType, 500, 1000
	config.UserAgent = "operator/v1"
	return config
}

// Serves the operator's kind.
func (s *server) kind() {
	s.t.Helper()
	client, err := apiextensions.NewForConfig(s.config("application/vnd.kubernetes.protobuf"))
	must(s.t, err)
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int32"}
	keep := true
	open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "orders." + Group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Group.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "orders", Kind: "Order"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: Group.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec":   {Type: "object", Required: []string{"item"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"item": text, "count": number}},
						"status": open,
					},
				}},
			}},
		},
	}
	_, err = client.ApiextensionsV1().CustomResourceDefinitions().Create(s.t.Context(), crd, metav1.CreateOptions{})
	must(s.t, err)
	eventually(s.t, "the kind is served", func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/apis", Group.Group, Group.Version, "orders").Do(ctx).Error()
	})
}

// One request, as the audit log has it.
type request struct {
	Verb      string
	UserAgent string
	ObjectRef struct{ Resource, Name, Subresource string }
	Response  struct{ Code int } `json:"responseStatus"`
	URI       string             `json:"requestURI"`
}

// What was asked since the log had so many lines.
// Whether so many resources were watched since a line of the log.
func (s *server) watches(since, wanted int) error {
	watched := map[string]bool{}
	for _, r := range s.requests(since) {
		if r.Verb == "watch" {
			watched[r.ObjectRef.Resource] = true
		}
	}
	return unless(len(watched) == wanted, "watched %v", watched)
}

func (s *server) requests(since int) []request {
	s.t.Helper()
	file, err := os.Open(s.log())
	must(s.t, err)
	defer file.Close()
	var out []request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for at := 0; lines.Scan(); at++ {
		if at < since {
			continue
		}
		var one request
		must(s.t, json.Unmarshal(lines.Bytes(), &one))
		out = append(out, one)
	}
	must(s.t, lines.Err())
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Tries until it holds; only a failure takes long.
func eventually(t *testing.T, what string, holds func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("never: %s: %v", what, last)
	}
}

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Fatalf("%s: %v instead of %v", what, got, wanted)
	}
}

func unless(condition bool, format string, arguments ...any) error {
	if condition {
		return nil
	}
	return fmt.Errorf(format, arguments...)
}
