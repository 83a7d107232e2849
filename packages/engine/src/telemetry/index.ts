/** OpenTelemetry for workflows. Needs `@opentelemetry/api`; nothing else of the engine loads it. */
export { type TelemetryOptions, telemetry } from "./telemetry.ts"
