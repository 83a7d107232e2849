import { expect, it } from "vitest"
import { superstep } from "./test-io.test-support.ts"

it("without a command it lists the commands on stderr, which is a usage error", async () => {
  const { code, stdout, stderr } = await superstep([])
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  expect(stderr).toContain("Usage: superstep COMMAND")
})

it("has colours in its help only on a terminal", async () => {
  expect((await superstep([], { terminals: ["stdout"] })).stderr).not.toContain("\x1B")
  expect((await superstep([], { terminals: ["stderr"] })).stderr).toContain("\x1B")
  expect((await superstep(["--help"], { terminals: ["stderr"] })).stdout).not.toContain("\x1B")
  expect((await superstep(["--help", "--no-color"], { terminals: ["stdout"] })).stdout).not.toContain("\x1B")
})

it.each([
  ["exce", "Did you mean superstep exec?"],
  ["rnu", "Did you mean superstep run?"],
  ["valdiate", "Did you mean superstep validate?"],
  ["fly", "See superstep --help."],
  ["version", "Did you mean superstep --version?"],
  ["-v", "Did you mean superstep --version?"],
  ["--json", "Flags follow the command: superstep COMMAND --json."],
])("%s is an unknown command, and the error suggests a known one", async (word, hint) => {
  const { code, stdout, stderr } = await superstep([word, "x.yaml"])
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  expect(stderr.replace(/\s+/g, " ")).toContain(hint)
})

it.each([
  [["serve", "--port", "abc"], '--port: "abc" is not valid. Write a port'],
  [["init", "foo"], 'The template "foo" is not valid. Allowed choices are steps,'],
  [["runs", "show"], "Missing argument: run."],
  [["runs", "--nope"], 'Unknown option "--nope".'],
  [["run", "x.yaml", "--storr", "y"], 'Unknown option "--storr". Did you mean --store?'],
  [["run", "x.yaml", "--foo"], 'Unknown option "--foo". Add --help'],
  [["runs", "salvage"], "Missing option: --to <file>."],
  [["respond", "a", "b", "c", "d"], "Too many arguments."],
])("refuses the command line %j in plain words", async (argv, message) => {
  const { code, stderr } = await superstep(argv)
  expect([code, stderr.replace(/\s+/g, " ")]).toEqual([2, expect.stringContaining(`superstep: ${message}`)])
})
