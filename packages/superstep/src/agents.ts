export * from "@superstep/engine/agents"
