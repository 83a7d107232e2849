export * from "@superstep/engine"
