// What every measured process has in its environment: the peers' tracing and telemetry are off.

export const measuredEnvironment = {
  ...process.env,
  NODE_ENV: "production",
  LANGCHAIN_TRACING_V2: "false",
  LANGSMITH_TRACING: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
}
