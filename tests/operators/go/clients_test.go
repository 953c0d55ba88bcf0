package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coordinationapply "k8s.io/client-go/applyconfigurations/coordination/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// What every typed client of client-go has.
type typed[T runtime.Object, L runtime.Object, A any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Apply(context.Context, A, metav1.ApplyOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
}

// Takes one object through everything that a typed client can do; `change` alters what `same` compares.
func life[T runtime.Object, L runtime.Object, A any](
	t *testing.T, client typed[T, L, A], object T, change func(T), patch string, same func(T) any, apply A,
) {
	t.Helper()
	ctx := t.Context()
	meta := func(o T) metav1.Object { return any(o).(metav1.Object) }
	name := meta(object).GetName()
	seen, err := client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	must(t, err)
	defer seen.Stop()

	made, err := client.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	must(t, err)
	if !reflect.DeepEqual(same(made), same(object)) {
		t.Fatalf("created %v instead of %v", same(made), same(object))
	}
	if meta(made).GetUID() == "" || len(meta(made).GetManagedFields()) == 0 || meta(made).GetCreationTimestamp().Time.IsZero() {
		t.Fatalf("incomplete metadata: %v", meta(made))
	}
	_, err = client.Create(ctx, object, metav1.CreateOptions{})
	want(t, "a second create exists already", apierrors.IsAlreadyExists(err), true)

	change(made)
	changed, err := client.Update(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	if !reflect.DeepEqual(same(changed), same(made)) {
		t.Fatalf("updated to %v instead of %v", same(changed), same(made))
	}
	meta(made).SetLabels(map[string]string{"late": "yes"})
	_, err = client.Update(ctx, made, metav1.UpdateOptions{})
	want(t, "an update of an old version conflicts", apierrors.IsConflict(err), true)

	for i, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		body := fmt.Sprintf(patch, i)
		patched, err := client.Patch(ctx, name, kind, []byte(body), metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
		must(t, err)
		want(t, "label by "+string(kind), meta(patched).GetLabels()["patched"], fmt.Sprint(i))
	}
	body := `[{"op":"test","path":"/metadata/labels/patched","value":"1"},{"op":"replace","path":"/metadata/labels/patched","value":"2"}]`
	patched, err := client.Patch(ctx, name, types.JSONPatchType, []byte(body), metav1.PatchOptions{})
	must(t, err)
	want(t, "label by JSON patch", meta(patched).GetLabels()["patched"], "2")

	applied, err := client.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	must(t, err)
	want(t, "label by apply", meta(applied).GetLabels()["applied"], "yes")
	again, err := client.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	must(t, err)
	want(t, "an apply of the same changes nothing", meta(again).GetResourceVersion(), meta(applied).GetResourceVersion())

	got, err := client.Get(ctx, name, metav1.GetOptions{})
	must(t, err)
	if !reflect.DeepEqual(same(got), same(applied)) || meta(got).GetResourceVersion() != meta(applied).GetResourceVersion() {
		t.Fatalf("got %v instead of %v", got, applied)
	}
	listed, err := client.List(ctx, metav1.ListOptions{LabelSelector: "applied=yes"})
	must(t, err)
	want(t, "objects in the list", reflect.ValueOf(listed).Elem().FieldByName("Items").Len(), 1)

	must(t, client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr(meta(got).GetUID())}}))
	_, err = client.Get(ctx, name, metav1.GetOptions{})
	want(t, "a deleted object is not found", apierrors.IsNotFound(err), true)
	// Created, updated, patched three times, applied once, deleted.
	words := []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Deleted}
	for i, word := range words {
		select {
		case event := <-seen.ResultChan():
			want(t, fmt.Sprintf("event %d", i), event.Type, word)
		case <-time.After(20 * time.Second):
			t.Fatalf("event %d of %d never came", i, len(words))
		}
	}
	must(t, client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "applied=yes"}))
}

func ptr[T any](value T) *T { return &value }

const labelPatch = `{"metadata":{"labels":{"patched":"%d"}}}`

// Typed clients write ConfigMaps, Secrets, Events and Leases in JSON and in protobuf.
func TestTypedClients(t *testing.T) {
	s := start(t)
	for media, namespace := range map[string]string{"application/json": "json", "application/vnd.kubernetes.protobuf": "protobuf"} {
		t.Run(namespace, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(s.config(media))
			must(t, err)
			ctx := t.Context()
			_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
			must(t, err)
			named := func() metav1.ObjectMeta {
				return metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{"of": "ü"}}
			}
			applied := map[string]string{"applied": "yes"}
			t.Run("configmap", func(t *testing.T) {
				life(t, client.CoreV1().ConfigMaps(namespace),
					&corev1.ConfigMap{ObjectMeta: named(), Data: map[string]string{"k": "v", "empty": ""}, BinaryData: map[string][]byte{"b": {0, 255, 10}}},
					func(o *corev1.ConfigMap) { o.Data["k"] = "w" }, labelPatch,
					func(o *corev1.ConfigMap) any { return []any{o.Data, o.BinaryData, o.Immutable} },
					coreapply.ConfigMap("a", namespace).WithLabels(applied).WithData(map[string]string{"applied": "1"}))
			})
			t.Run("secret", func(t *testing.T) {
				life(t, client.CoreV1().Secrets(namespace),
					&corev1.Secret{ObjectMeta: named(), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"password": {1, 2, 3}}},
					func(o *corev1.Secret) { o.Data["password"] = []byte("other") }, labelPatch,
					func(o *corev1.Secret) any { return []any{o.Data, o.Type} },
					coreapply.Secret("a", namespace).WithLabels(applied).WithStringData(map[string]string{"more": "x"}))
			})
			t.Run("event", func(t *testing.T) {
				now := metav1.NewTime(time.Now().Truncate(time.Second))
				life(t, client.CoreV1().Events(namespace),
					&corev1.Event{ObjectMeta: named(), Reason: "Kept", Message: "well", Type: "Normal", Count: 1, FirstTimestamp: now, LastTimestamp: now,
						InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Namespace: namespace, Name: "a", APIVersion: "v1"},
						Source:         corev1.EventSource{Component: "operator", Host: "here"}},
					func(o *corev1.Event) { o.Count++ }, labelPatch,
					func(o *corev1.Event) any {
						return []any{o.Reason, o.Message, o.Type, o.Count, o.FirstTimestamp.Unix(), o.InvolvedObject, o.Source}
					},
					coreapply.Event("a", namespace).WithLabels(applied).WithMessage("better").WithInvolvedObject(
						coreapply.ObjectReference().WithKind("ConfigMap").WithNamespace(namespace).WithName("a").WithAPIVersion("v1")))
			})
			t.Run("lease", func(t *testing.T) {
				now := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
				life(t, client.CoordinationV1().Leases(namespace),
					&coordinationv1.Lease{ObjectMeta: named(), Spec: coordinationv1.LeaseSpec{
						HolderIdentity: ptr("one"), LeaseDurationSeconds: ptr(int32(15)), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr(int32(0))}},
					func(o *coordinationv1.Lease) { o.Spec.HolderIdentity = ptr("two") }, labelPatch,
					func(o *coordinationv1.Lease) any {
						return []any{*o.Spec.HolderIdentity, *o.Spec.LeaseDurationSeconds, o.Spec.RenewTime.UnixMicro(), *o.Spec.LeaseTransitions}
					},
					coordinationapply.Lease("a", namespace).WithLabels(applied).WithSpec(coordinationapply.LeaseSpec().WithLeaseDurationSeconds(20)))
			})
			t.Run("the rest", func(t *testing.T) { others(t, client, namespace) })
		})
	}
}

// Newer events, accounts, tokens, roles, reviews, namespaces.
func others(t *testing.T, client *kubernetes.Clientset, namespace string) {
	ctx := t.Context()
	at := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	event, err := client.EventsV1().Events(namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "order-"}, EventTime: at, ReportingController: "shop/operator", ReportingInstance: "one",
		Action: "Keep", Reason: "Kept", Note: "well", Type: "Normal",
		Regarding: corev1.ObjectReference{Kind: "ConfigMap", Namespace: namespace, Name: "a", APIVersion: "v1"},
	}, metav1.CreateOptions{})
	must(t, err)
	old, err := client.CoreV1().Events(namespace).Get(ctx, event.Name, metav1.GetOptions{})
	must(t, err)
	want(t, "an event's message in the old group", old.Message, "well")

	account, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	must(t, err)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr(int64(600))}}, metav1.CreateOptions{})
	must(t, err)
	want(t, "a token was made", token.Status.Token != "", true)
	_, err = client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
	}, metav1.CreateOptions{})
	must(t, err)
	for verb, allowed := range map[string]bool{"get": true, "list": false} {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + namespace + ":robot",
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "configmaps"},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		want(t, "the robot may "+verb, review.Status.Allowed, allowed)
	}
	_, err = client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
	must(t, err)
	pages, next := 0, ""
	for {
		page, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{Limit: 3, Continue: next})
		must(t, err)
		pages++
		if next = page.Continue; next == "" {
			break
		}
	}
	want(t, "cluster roles come in pages", pages > 1, true)
	_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Not A Name"}}, metav1.CreateOptions{})
	want(t, "a bad name is invalid", apierrors.IsInvalid(err), true)
	var status apierrors.APIStatus = err.(*apierrors.StatusError)
	want(t, "its cause", status.Status().Details.Causes[0].Field, "metadata.name")

	must(t, client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationForeground)}))
	eventually(t, "the namespace is gone", func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return unless(apierrors.IsNotFound(err), "%v", err)
	})
	groups, resources, err := client.Discovery().ServerGroupsAndResources()
	must(t, err)
	want(t, "discovery has groups and resources", len(groups) > 5 && len(resources) > 5, true)
	schema, err := client.Discovery().OpenAPISchema()
	must(t, err)
	want(t, "OpenAPI v2 by protobuf", schema.GetDefinitions() != nil, true)
	v3, err := client.Discovery().OpenAPIV3().Paths()
	must(t, err)
	text, err := v3["api/v1"].Schema("application/json")
	must(t, err)
	want(t, "OpenAPI v3 is JSON", json.Valid(text), true)
}
