export {} from "@superstep/engine"
