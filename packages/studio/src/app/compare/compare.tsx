/** Two runs side by side: where they part first, what differs, and what each took and cost. */
import { useQuery } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { Link } from "wouter"
import { client } from "../api/session.ts"
import { runHref, useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { hasEnded } from "../runs/run-list.ts"
import { Button } from "../ui/button.tsx"
import { Field, TextInput } from "../ui/field.tsx"
import { Count, Duration, Money } from "../ui/figures.tsx"
import { plural, shortId } from "../ui/format.ts"
import { JsonView } from "../ui/json-view.tsx"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import styles from "./compare.module.css"
import { differenceOf } from "./differences.ts"
import { textDiff } from "./text-diff.ts"

export default function Compare() {
  const [params] = useAddress()
  const [a, b] = [params.get("a") ?? "", params.get("b") ?? ""]
  return (
    <>
      <Bar trail={[{ name: "Runs", href: "/runs" }, { name: "Compare" }]} />
      <Choose key={`${a} ${b}`} a={a} b={b} />
      {a === "" || b === "" ? (
        <Empty icon="compare" title="Choose two runs">
          A fork and its origin, a run and its retry, or two runs of the same workflow.
        </Empty>
      ) : (
        <Result a={a} b={b} />
      )}
    </>
  )
}

function Choose({ a, b }: { readonly a: string; readonly b: string }) {
  const [, setAddress] = useAddress()
  const [first, setFirst] = useState(a)
  const [second, setSecond] = useState(b)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setAddress({ a: first.trim() || undefined, b: second.trim() || undefined })
  }
  return (
    <form className={styles.choose} onSubmit={submit}>
      <Field label="First run">
        {(props) => (
          <TextInput
            {...props}
            value={first}
            placeholder="Run id"
            onInput={(event) => setFirst(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Second run">
        {(props) => (
          <TextInput
            {...props}
            value={second}
            placeholder="Run id"
            onInput={(event) => setSecond(event.currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit">Compare</Button>
    </form>
  )
}

function Result({ a, b }: { readonly a: string; readonly b: string }) {
  const comparison = useQuery({
    queryKey: ["compare", a, b],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/compare", { query: { a, b }, signal })).data,
  })
  if (comparison.data === undefined) {
    if (comparison.isError)
      return <Failure error={comparison.error} retry={() => void comparison.refetch()} />
    return <Loading lines={10} />
  }
  const { same, differences } = comparison.data
  return (
    <div className={styles.result} tabIndex={0} role="region" aria-label="Comparison">
      <div className={styles.sides}>
        <Side id={a} name="First" />
        <Side id={b} name="Second" />
      </div>
      {same ? (
        <Empty icon="check" title="They did the same">
          Inputs, messages, answers, state, outputs and errors are equal.
        </Empty>
      ) : (
        <>
          <h2 className={styles.count}>
            {plural(differences.length, "difference")}
            {differences.length > 1 && ", in the order in which they happened"}
          </h2>
          <ol className={styles.differences}>
            {differences.map((one, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: differences have no names, and never change
              <Difference key={i} data={one} isFirst={i === 0} />
            ))}
          </ol>
        </>
      )}
    </div>
  )
}

function Side({ id, name }: { readonly id: string; readonly name: string }) {
  const run = useQuery({
    queryKey: ["run", id],
    queryFn: async ({ signal }) => await client.get(id).show({ signal }),
  })
  const cost = useQuery({
    queryKey: ["cost", id],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/runs/{run}/cost", { path: { run: id }, signal })).data,
  })
  const {
    usd,
    inputTokens = 0,
    outputTokens = 0,
  } = (cost.data?.usage ?? {}) as {
    usd?: number
    inputTokens?: number
    outputTokens?: number
  }
  return (
    <section className={styles.side}>
      <h2>
        {name}: <Link href={runHref(id)}>{shortId(id)}</Link>
      </h2>
      {run.data !== undefined && (
        <p>
          <Status status={run.data.status} /> {run.data.workflow} ·{" "}
          <Duration from={run.data.createdAt} to={hasEnded(run.data) ? run.data.updatedAt : undefined} /> ·{" "}
          <Money usd={usd} /> · <Count value={inputTokens + outputTokens} /> tokens
        </p>
      )}
    </section>
  )
}

function Difference({ data, isFirst }: { readonly data: unknown; readonly isFirst: boolean }) {
  const { title, a, b } = differenceOf(data)
  const isText = typeof a === "string" && typeof b === "string"
  return (
    <li className={styles.difference} data-first={isFirst || undefined}>
      <h3>
        {title}
        {isFirst && <span className={styles.mark}>they part here</span>}
      </h3>
      {isText ? (
        <p className={styles.text}>
          {textDiff(a, b).map(({ kind, text }, i) =>
            kind === "same" ? (
              text
            ) : kind === "removed" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of the text have no names
              <del key={i}>{text}</del>
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of the text have no names
              <ins key={i}>{text}</ins>
            ),
          )}
        </p>
      ) : (
        <div className={styles.values}>
          <div>
            {a === undefined ? (
              <span className={styles.none}>nothing</span>
            ) : (
              <JsonView value={a} name="first" isBare />
            )}
          </div>
          <div>
            {b === undefined ? (
              <span className={styles.none}>nothing</span>
            ) : (
              <JsonView value={b} name="second" isBare />
            )}
          </div>
        </div>
      )}
    </li>
  )
}
