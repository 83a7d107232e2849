#!/usr/bin/env node
// Committed, so that npm can link the command in a clone before anything is built.
const { existsSync } = require("node:fs")
const { join, resolve } = require("node:path")

const command = join(__dirname, "../dist/command.cjs")
if (existsSync(command)) {
  require(command)
} else {
  const repository = resolve(__dirname, "../../..")
  console.error(`superstep: ${command} is missing. Build it first: npm run build (in ${repository})`)
  process.exitCode = 2
}
