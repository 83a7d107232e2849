// Prints the address of every module that the process loads from now on: `node --import ./loaded-modules.mjs …`.
import { register } from "node:module"

const hook = `
  import { writeSync } from "node:fs"
  export async function load(url, context, next) {
    writeSync(1, "loaded " + url + "\\n")
    return next(url, context)
  }`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
