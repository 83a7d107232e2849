export * from "@superstep/engine/core"
