export * from "@superstep/engine/patterns"
