export * from "@superstep/engine/definitions"
