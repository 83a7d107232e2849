export * from "@superstep/engine/models"
