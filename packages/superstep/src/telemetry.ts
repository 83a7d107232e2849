export {
  type TelemetryOptions,
  telemetry,
} from "@superstep/engine/telemetry"
