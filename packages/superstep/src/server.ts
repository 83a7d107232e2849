/** Serves workflows over HTTP. */
export * from "@superstep/server"
