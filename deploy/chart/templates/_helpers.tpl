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
{{- define "offshoot.secret" -}}
{{- if eq .Values.tls.from "existing" }}{{ .Values.tls.secret }}{{ else }}{{ include "offshoot.name" . }}-tls{{ end -}}
{{- end }}
{{/* Where cert-manager finds the CA that it is to write into caBundle. */}}
{{- define "offshoot.injected" -}}
{{- if eq .Values.tls.from "certManager" }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "offshoot.name" . }}
{{- end }}
{{- end }}
