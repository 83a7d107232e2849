#!/usr/bin/env node
/**
 * The command `superstep`. On a definition it starts from one file that holds the engine too, which is there after a build.
 * Else it starts from modules: those of a user share the engine with it.
 */
import module from "node:module"
import { join } from "node:path"
import { keptProgram } from "./kept-program.ts"
import type * as Program from "./start.ts"

void run(process.argv.slice(2))

async function run(argv: readonly string[]): Promise<void> {
  const [use = ""] = argv
  const whole = isOnDefinition(argv)
    ? keptProgram<typeof Program>(join(import.meta.dirname, "whole.cjs"), use)
    : undefined
  const { start } = whole?.exports ?? (await modules())
  const code = await start(argv)
  // What did not get to its end has compiled too little to be worth it.
  if (code === 0) whole?.keep()
  process.exit(code)
}

function isOnDefinition([command = "", ...words]: readonly string[]): boolean {
  return (
    /^[a-z]+$/.test(command) &&
    words.some((word) => /\.(ya?ml|json)$/i.test(word)) &&
    !words.some((word) => /\.[cm]?[jt]sx?$/i.test(word))
  )
}

function modules(): Promise<typeof Program> {
  // Node 22 and later keep what they have compiled by themselves; the types are those of 20.
  const { enableCompileCache } = module as { enableCompileCache?: () => void }
  enableCompileCache?.()
  return import("./start.ts")
}
