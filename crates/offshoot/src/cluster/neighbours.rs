//! Who else is on the cluster: Porch's own API server, and its later API (C5).

use serde_json::Value;

use super::remote::Remote;
use crate::exit::ExitFailure;

/// The name under which the package API is registered.
const SERVICE: &str = "v1alpha1.porch.kpt.dev";

/// Refuses to start beside another server of the package API, and warns of what is not served here.
///
/// # Errors
/// The API is registered for another Service.
pub(super) async fn look(
    remote: &Remote,
    (namespace, name): &(String, String),
) -> Result<(), ExitFailure> {
    let path = format!(
        "/apis/apiregistration.k8s.io/v1/apiservices?fieldSelector=metadata.name%3D{SERVICE}"
    );
    match remote.read(&path).await {
        Ok(found) => {
            if let Some(other) = other(&found["items"][0], (namespace, name)) {
                return Err(ExitFailure::new(format!(
                    "APIService {SERVICE} is served by Service {other}, not by {namespace}/{name}"
                ))
                .hint("stop that server first, and install the chart, which registers the API for its own Service"));
            }
        }
        // Where the account may not look, the chart's own APIService says enough.
        Err(failure) => tracing::debug!(%failure, "APIServices cannot be read"),
    }
    if remote.read("/apis/porch.kpt.dev/v1alpha2").await.is_ok() {
        tracing::warn!(
            "porch.kpt.dev/v1alpha2 is served on this cluster by somebody else: Offshoot serves v1alpha1 alone, and neither reads \
             nor writes those objects"
        );
    }
    Ok(())
}

/// The Service that an APIService names, if it is another one.
fn other(found: &Value, (namespace, name): (&str, &str)) -> Option<String> {
    let service = found.pointer("/spec/service")?;
    let text = |field| service[field].as_str().unwrap_or_default();
    let is_ours = text("namespace") == namespace && text("name") == name;
    (!is_ours).then(|| format!("{}/{}", text("namespace"), text("name")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_another_service_is_in_the_way() {
        let of = |namespace: &str, name: &str| json!({"spec": {"service": {"namespace": namespace, "name": name}}});
        let ours = ("offshoot-system", "offshoot");
        assert_eq!(other(&of("offshoot-system", "offshoot"), ours), None);
        assert_eq!(other(&Value::Null, ours), None, "nobody registered it yet");
        let porch = other(&of("porch-system", "api"), ours);
        assert_eq!(porch.as_deref(), Some("porch-system/api"));
    }
}
