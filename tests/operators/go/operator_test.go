package operator

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const namespace = "default"

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	os.Exit(m.Run())
}

func scheme(t *testing.T) *runtime.Scheme {
	out := runtime.NewScheme()
	must(t, clientscheme.AddToScheme(out))
	must(t, AddToScheme(out))
	return out
}

// One replica of the operator.
type replica struct {
	manager ctrl.Manager
	struck  sync.Map
	stop    context.CancelFunc
	ended   chan error
}

// Starts a replica; `leases` makes it one of several.
func (s *server) replica(name string, leases bool) *replica {
	s.t.Helper()
	manager, err := ctrl.NewManager(s.config(""), ctrl.Options{
		Scheme:                  scheme(s.t),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		LeaderElection:          leases,
		LeaderElectionID:        "operator.example.dev",
		LeaderElectionNamespace: namespace,
		// A restart of the server fits into the deadline on any machine; `eventually` has time for the handover.
		LeaseDuration:           ptr(20 * time.Second),
		RenewDeadline:           ptr(15 * time.Second),
		RetryPeriod:             ptr(500 * time.Millisecond),
	})
	must(s.t, err)
	out := &replica{manager: manager, ended: make(chan error, 1)}
	operator := &Reconciler{
		Client: manager.GetClient(), Events: manager.GetEventRecorderFor("operator"), Name: name,
		Struck: func(order string) { out.struck.Store(order, true) },
	}
	must(s.t, operator.SetupWithManager(manager, s.t.Name()+"-"+name))
	ctx, stop := context.WithCancel(context.Background())
	out.stop = stop
	go func() { out.ended <- manager.Start(ctx) }()
	s.t.Cleanup(stop)
	return out
}

// A client without a cache.
func (s *server) direct() client.Client {
	s.t.Helper()
	out, err := client.New(s.config(""), client.Options{Scheme: scheme(s.t)})
	must(s.t, err)
	return out
}

func order(name, item string) *Order {
	return &Order{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: OrderSpec{Item: item, Count: 1}}
}

func key(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

// Whether everything of an Order is as it says.
func kept(ctx context.Context, c client.Client, name, item string) error {
	var o Order
	var settings corev1.ConfigMap
	var secret corev1.Secret
	var lease coordinationv1.Lease
	err := errors.Join(c.Get(ctx, key(name), &o), c.Get(ctx, key(name), &settings), c.Get(ctx, key(name), &secret), c.Get(ctx, key("order-"+name), &lease))
	if err != nil {
		return err
	}
	return errors.Join(
		unless(o.Status.ObservedGeneration == o.Generation && len(o.Status.Conditions) == 1, "status %v at generation %d", o.Status, o.Generation),
		unless(settings.Data["item"] == item, "settings %v", settings.Data),
		unless(string(secret.Data["receipt"]) == item, "receipt %q", secret.Data["receipt"]),
	)
}

// An operator keeps what belongs to its objects, and a finalizer holds them until it is done.
func TestOperatorKeepsAndLetsGo(t *testing.T) {
	s := start(t)
	s.kind()
	one, direct := s.replica("one", false), s.direct()
	ctx := t.Context()
	must(t, direct.Create(ctx, order("a", "shoes")))
	eventually(t, "all is kept", func(ctx context.Context) error { return kept(ctx, direct, "a", "shoes") })

	var o Order
	must(t, direct.Get(ctx, key("a"), &o))
	want(t, "the finalizer is there", len(o.Finalizers), 1)
	o.Spec.Item = "boots"
	eventually(t, "an update goes through", func(ctx context.Context) error {
		if err := direct.Get(ctx, key("a"), &o); err != nil {
			return err
		}
		o.Spec.Item = "boots"
		return direct.Update(ctx, &o)
	})
	eventually(t, "the change is followed", func(ctx context.Context) error { return kept(ctx, direct, "a", "boots") })
	must(t, direct.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}))
	eventually(t, "what somebody deleted comes back", func(ctx context.Context) error { return kept(ctx, direct, "a", "boots") })
	eventually(t, "events tell of it", func(ctx context.Context) error {
		var events corev1.EventList
		err := direct.List(ctx, &events, client.InNamespace(namespace), client.MatchingFields{"involvedObject.name": "a"})
		return errors.Join(err, unless(len(events.Items) > 0, "no event"))
	})

	must(t, direct.Delete(ctx, &o))
	eventually(t, "the order and what it owned are gone", func(ctx context.Context) error {
		for _, gone := range []client.Object{&Order{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
			if err := direct.Get(ctx, key("a"), gone); !apierrors.IsNotFound(err) {
				return unless(false, "%T: %v", gone, err)
			}
		}
		return nil
	})
	_, struck := one.struck.Load("a")
	want(t, "the finalizer did its work", struck, true)
	one.stop()
	must(t, <-one.ended)
}

// Caches of objects and of metadata follow across a stop and a kill of the server, without a list.
func TestInformersSurviveARestart(t *testing.T) {
	for word, signal := range map[string]os.Signal{"stop": syscall.SIGTERM, "kill": syscall.SIGKILL} {
		t.Run(word, func(t *testing.T) {
			s := start(t)
			s.kind()
			one, direct := s.replica("one", false), s.direct()
			ctx := t.Context()
			cache := one.manager.GetCache()
			partial := &metav1.PartialObjectMetadata{}
			partial.SetGroupVersionKind(Group.WithKind("Order"))
			for _, kind := range []client.Object{&coordinationv1.Lease{}, &corev1.Event{}, &corev1.Namespace{}, partial} {
				_, err := cache.GetInformer(ctx, kind)
				must(t, err)
			}
			must(t, direct.Create(ctx, order("before", "shoes")))
			eventually(t, "the cache has it", func(ctx context.Context) error { return kept(ctx, one.manager.GetClient(), "before", "shoes") })
			// client-go takes a watch that ends within its first second, before any event, for a broken one and lists again.
			eventually(t, "everything is watched", func(context.Context) error { return s.watches(0, 6) })
			time.Sleep(1200 * time.Millisecond)
			lines := len(s.requests(0))

			s.restart(signal)
			direct = s.direct()
			must(t, direct.Create(ctx, order("after", "boots")))
			eventually(t, "the cache goes on", func(ctx context.Context) error { return kept(ctx, one.manager.GetClient(), "after", "boots") })
			must(t, kept(ctx, one.manager.GetClient(), "before", "shoes"))
			eventually(t, "the metadata's cache goes on", func(ctx context.Context) error {
				found := &metav1.PartialObjectMetadata{}
				found.SetGroupVersionKind(Group.WithKind("Order"))
				return cache.Get(ctx, key("after"), found)
			})
			eventually(t, "everything is watched again", func(context.Context) error { return s.watches(lines, 6) })
			for _, r := range s.requests(lines) {
				if r.Verb == "list" && r.UserAgent == "operator/v1" {
					t.Errorf("a cache listed again: %s answered %d", r.URI, r.Response.Code)
				}
			}
		})
	}
}

// Of two replicas one works; when it goes without a word the other takes over, and no sooner.
func TestReplicasFailOverByLease(t *testing.T) {
	s := start(t)
	s.kind()
	direct, ctx := s.direct(), t.Context()
	one := s.replica("one", true)
	eventually(t, "the first leads", elected(one))
	two := s.replica("two", true)
	must(t, direct.Create(ctx, order("a", "shoes")))
	eventually(t, "the first works", func(ctx context.Context) error { return kept(ctx, direct, "a", "shoes") })
	var lease coordinationv1.Lease
	must(t, direct.Get(ctx, key("operator.example.dev"), &lease))
	holder := *lease.Spec.HolderIdentity
	if elected(two)(ctx) == nil {
		t.Fatal("both lead")
	}

	s.restart(syscall.SIGTERM)
	direct = s.direct()
	must(t, direct.Get(ctx, key("operator.example.dev"), &lease))
	want(t, "who leads across a restart", *lease.Spec.HolderIdentity, holder)
	must(t, direct.Create(ctx, order("b", "boots")))
	eventually(t, "the leader works on", func(ctx context.Context) error { return kept(ctx, direct, "b", "boots") })

	one.stop()
	<-one.ended
	eventually(t, "the second leads", elected(two))
	must(t, direct.Get(ctx, key("operator.example.dev"), &lease))
	want(t, "the lease changed hands", *lease.Spec.HolderIdentity != holder && *lease.Spec.LeaseTransitions == 1, true)
	must(t, direct.Create(ctx, order("c", "socks")))
	eventually(t, "the second works", func(ctx context.Context) error { return kept(ctx, direct, "c", "socks") })
	_, acted := two.struck.Load("c")
	want(t, "nothing was let go", acted, false)
}

func elected(r *replica) func(context.Context) error {
	return func(context.Context) error {
		select {
		case <-r.manager.Elected():
			return nil
		default:
			return errors.New("not elected")
		}
	}
}

// Server-side apply by the client of controller-runtime: shared objects, conflicts, force, giving up.
func TestServerSideApply(t *testing.T) {
	s := start(t)
	s.kind()
	direct, ctx := s.direct(), t.Context()
	say := func(owner, item string, options ...client.PatchOption) error {
		o := order("a", item)
		o.Spec.Count = 0
		gvk, err := apiutil.GVKForObject(o, direct.Scheme())
		must(t, err)
		o.SetGroupVersionKind(gvk)
		o.ManagedFields = nil
		return direct.Patch(ctx, o, client.Apply, append(options, client.FieldOwner(owner))...)
	}
	must(t, say("one", "shoes"))
	must(t, say("one", "shoes"))
	err := say("two", "boots")
	want(t, "another's field is a conflict", apierrors.IsConflict(err), true)
	var status apierrors.APIStatus
	want(t, "it is a status", errors.As(err, &status), true)
	want(t, "the conflict's field", status.Status().Details.Causes[0].Field, ".spec.item")
	must(t, say("two", "boots", client.ForceOwnership))
	var o Order
	must(t, direct.Get(ctx, key("a"), &o))
	want(t, "the forced value", o.Spec.Item, "boots")
	owners := map[string]bool{}
	for _, entry := range o.ManagedFields {
		owners[entry.Manager+" "+string(entry.Operation)] = true
	}
	want(t, "who owns a field now", owners["two Apply"], true)
	err = say("three", "socks", client.DryRunAll, client.ForceOwnership)
	must(t, err)
	must(t, direct.Get(ctx, key("a"), &o))
	want(t, "a dry run changes nothing", o.Spec.Item, "boots")
}
