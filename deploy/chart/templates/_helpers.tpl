{{- define "offshoot.name" -}}
{{- if contains "offshoot" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-offshoot" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}
{{- define "offshoot.selector" -}}
app.kubernetes.io/name: offshoot
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "offshoot.labels" -}}
{{ include "offshoot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "offshoot.account" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "offshoot.name" . }}
{{- end }}
{{/* The Secret that holds the certificate, or the authority of our own that signs it. */}}
{{- define "offshoot.secret" -}}
{{- if eq .Values.tls.from "existing" }}{{ .Values.tls.secret }}{{ else if eq .Values.tls.from "own" }}{{ include "offshoot.name" . }}-serving{{ else }}{{ include "offshoot.name" . }}-tls{{ end -}}
{{- end }}
{{/* Labels of what the cluster finds us by, and whose authority is written into its caBundle: the replicas write their own, cert-manager its. */}}
{{- define "offshoot.found" -}}
labels:
  {{- if eq .Values.tls.from "own" }}
  offshoot.dev/serving: own-ca
  {{- end }}
  {{- include "offshoot.labels" . | nindent 2 }}
{{- if eq .Values.tls.from "certManager" }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "offshoot.name" . }}
{{- end }}
{{- end }}
