// Package operator is a small operator on controller-runtime, as anybody would write one: it keeps a ConfigMap, a Secret, an
// Event and a Lease for each Order, holds a finalizer, and reports by conditions.
package operator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationapply "k8s.io/client-go/applyconfigurations/coordination/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Group is the group of the operator's kind.
var Group = schema.GroupVersion{Group: "operator.example.dev", Version: "v1"}

// Finalizer keeps an Order until what it wrote down in the ledger is struck out.
const Finalizer = "operator.example.dev/ledger"

// Order is the operator's kind.
type Order struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              OrderSpec   `json:"spec,omitempty"`
	Status            OrderStatus `json:"status,omitempty"`
}

// OrderSpec says what is wanted.
type OrderSpec struct {
	Item  string `json:"item"`
	Count int32  `json:"count,omitempty"`
}

// OrderStatus says what is.
type OrderStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// OrderList is a list of Orders.
type OrderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Order `json:"items"`
}

// DeepCopyObject copies an Order.
func (in *Order) DeepCopyObject() runtime.Object {
	out := *in
	out.ObjectMeta = *in.ObjectMeta.DeepCopy()
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	return &out
}

// DeepCopyObject copies a list.
func (in *OrderList) DeepCopyObject() runtime.Object {
	out := *in
	out.ListMeta = *in.ListMeta.DeepCopy()
	out.Items = nil
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Order))
	}
	return &out
}

// AddToScheme registers the operator's kind.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Group, &Order{}, &OrderList{})
	metav1.AddToGroupVersion(scheme, Group)
	return nil
}

// Reconciler brings what belongs to an Order in line with it.
type Reconciler struct {
	client.Client
	Events record.EventRecorder
	Name   string
	// Struck is told of every Order that the finalizer let go.
	Struck func(name string)
}

// Reconcile is told a name, and nothing else.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var order Order
	if err := r.Get(ctx, request.NamespacedName, &order); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !order.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&order, Finalizer) {
			r.Struck(order.Name)
			return ctrl.Result{}, r.Update(ctx, &order)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&order, Finalizer) {
		if err := r.Update(ctx, &order); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.children(ctx, &order); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, &order)
}

func (r *Reconciler) children(ctx context.Context, order *Order) error {
	named := metav1.ObjectMeta{Namespace: order.Namespace, Name: order.Name}
	settings := &corev1.ConfigMap{ObjectMeta: named}
	did, err := controllerutil.CreateOrUpdate(ctx, r.Client, settings, func() error {
		settings.Data = map[string]string{"item": order.Spec.Item, "count": fmt.Sprint(order.Spec.Count)}
		return controllerutil.SetControllerReference(order, settings, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("keep the ConfigMap: %w", err)
	}
	if did != controllerutil.OperationResultNone {
		r.Events.Eventf(order, corev1.EventTypeNormal, "Kept", "ConfigMap %s %s", settings.Name, did)
	}
	secret := &corev1.Secret{ObjectMeta: named}
	_, err = controllerutil.CreateOrPatch(ctx, r.Client, secret, func() error {
		secret.Data = map[string][]byte{"receipt": []byte(order.Spec.Item)}
		return controllerutil.SetControllerReference(order, secret, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("keep the Secret: %w", err)
	}
	// Leases are kept by server-side apply.
	held := coordinationapply.Lease("order-"+order.Name, order.Namespace).
		WithSpec(coordinationapply.LeaseSpec().WithHolderIdentity(r.Name).WithLeaseDurationSeconds(15 + order.Spec.Count))
	if err := r.Apply(ctx, held, client.FieldOwner("operator"), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply the Lease: %w", err)
	}
	return nil
}

func (r *Reconciler) report(ctx context.Context, order *Order) error {
	before := order.DeepCopyObject().(*Order)
	order.Status.ObservedGeneration = order.Generation
	meta.SetStatusCondition(&order.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Kept", ObservedGeneration: order.Generation,
		LastTransitionTime: metav1.NewTime(time.Now()),
	})
	return r.Status().Patch(ctx, order, client.MergeFrom(before))
}

// SetupWithManager says what the operator looks at.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager, name string) error {
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(&Order{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}).
		Complete(r)
}
