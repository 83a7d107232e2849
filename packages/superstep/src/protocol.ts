export * from "@superstep/engine/protocol"
