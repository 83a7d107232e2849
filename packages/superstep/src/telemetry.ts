export * from "@superstep/engine/telemetry"
