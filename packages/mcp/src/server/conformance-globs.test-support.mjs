/**
 * Lets the conformance suite start on Node 20: it imports `fs.globSync`, which Node 22 added, for a command that the tests do
 * not use.
 */
import { register } from "node:module"

const shim = 'export * from "node:fs"; export const globSync = () => { throw new Error("not on Node 20") }'
const hooks = `
  const shim = ${JSON.stringify(`data:text/javascript,${encodeURIComponent(shim)}`)}
  export async function resolve(specifier, context, next) {
    const isSuite = context.parentURL?.includes("/conformance/dist/")
    return specifier === "fs" && isSuite ? { url: shim, shortCircuit: true } : await next(specifier, context)
  }`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
