export * from "@superstep/engine/tools"
