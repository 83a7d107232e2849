/** The first page of an empty store: one press starts the example, and says what will be seen. */
import { useState } from "react"
import { useLocation } from "wouter"
import { useMay, useWorkflows } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { runHref } from "../frame/address.ts"
import { Button, LinkButton } from "../ui/button.tsx"
import { Loading } from "../ui/states.tsx"
import { toastProblem } from "../ui/toast.tsx"
import styles from "./home.module.css"

/** The workflow that `superstep studio` brings along. */
const EXAMPLE = "tour"
const EXAMPLE_INPUT = "Why tea is drunk hot"

export function FirstRun() {
  const { data: workflows } = useWorkflows()
  const [, navigate] = useLocation()
  const [isBusy, setBusy] = useState(false)
  const mayStart = useMay("operator")
  if (workflows === undefined) return <Loading lines={8} />
  const hasExample = workflows.some(({ name }) => name === EXAMPLE)
  const start = async () => {
    setBusy(true)
    try {
      const run = await client.start(EXAMPLE, EXAMPLE_INPUT)
      navigate(runHref(run.id))
    } catch (error) {
      toastProblem(error)
      setBusy(false)
    }
  }
  return (
    <div className={styles.first}>
      <h2>No run has started on this store</h2>
      <p>
        Runs of all workflows appear here as they happen, and stay: every step, every token, every answer.
      </p>
      {hasExample && mayStart ? (
        <>
          <ol>
            <li>An agent drafts a short article. You see the text as it is written.</li>
            <li>Two reviewers read it at the same time, and their notes are joined.</li>
            <li>The run asks you whether to publish it, and waits, for days if it must.</li>
            <li>You answer here. Then step back through time, fork it, and compare.</li>
          </ol>
          <Button look="primary" icon="play" isBusy={isBusy} onClick={() => void start()}>
            Start the example
          </Button>
          <p className={styles.calm}>It needs no key, no model and no network.</p>
        </>
      ) : workflows.length > 0 ? (
        <>
          <p>
            This server has {workflows.length === 1 ? "one workflow" : `${workflows.length} workflows`}. Start
            one from its form, or over HTTP.
          </p>
          <LinkButton href="/workflows" look="primary" icon="play">
            Open workflows
          </LinkButton>
        </>
      ) : (
        <p>
          This server has no workflows. Start it with some: <code>superstep dev flows/</code>
        </p>
      )}
    </div>
  )
}
