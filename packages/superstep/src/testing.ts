export * from "@superstep/engine/testing"
