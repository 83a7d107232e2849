/** The fields of a form made from a JSON Schema. The caller keeps what people typed, and reads the value from it. */
import { type ReactNode, useId } from "react"
import { Field, Select, TextArea, TextInput } from "./field.tsx"
import styles from "./schema-fields.module.css"
import { type FormField, type FormInput, initialText } from "./schema-form.ts"

interface SchemaFieldsProps {
  readonly field: FormField
  readonly input: FormInput
  readonly onInput: (input: FormInput) => void
  readonly problems: ReadonlyMap<string, string>
  readonly autoFocus?: boolean
}

const FEW_CHOICES = 5

export function SchemaFields(props: SchemaFieldsProps): ReactNode {
  const { field, input, onInput, problems, autoFocus = false } = props
  if (field.kind === "object") {
    const inner = field.fields.map((one, i) => (
      <SchemaFields key={one.path} {...props} field={one} autoFocus={autoFocus && i === 0} />
    ))
    if (field.path === "") return <div className={styles.fields}>{inner}</div>
    return (
      <fieldset className={styles.group}>
        <legend>{field.label}</legend>
        {inner}
      </fieldset>
    )
  }
  const text = input.get(field.path) ?? initialText(field)
  const set = (value: string) => onInput(new Map(input).set(field.path, value))
  const label = field.isRequired || field.path === "" ? field.label : `${field.label} (optional)`
  if (field.kind === "choice" && field.choices.length <= FEW_CHOICES) {
    return <Choices label={label} hint={field.hint} choices={field.choices} text={text} set={set} />
  }
  if (field.kind === "boolean") {
    return <Choices label={label} hint={field.hint} choices={[true, false]} text={text} set={set} />
  }
  return (
    <Field label={label} hint={field.hint} problem={problems.get(field.path)}>
      {(props) => {
        const common = { ...props, value: text, autoFocus }
        if (field.kind === "choice") {
          const options = field.choices.map((one) => [JSON.stringify(one), String(one)] as const)
          return (
            <Select
              {...props}
              label={label}
              value={text}
              onChange={set}
              options={[["", "Choose"], ...options]}
            />
          )
        }
        if (field.kind === "number") {
          return (
            <TextInput {...common} inputMode="decimal" onInput={(event) => set(event.currentTarget.value)} />
          )
        }
        if (field.kind === "json") {
          return (
            <TextArea
              {...common}
              isCode
              rows={5}
              spellCheck={false}
              placeholder="JSON"
              onInput={(event) => set(event.currentTarget.value)}
            />
          )
        }
        return field.isLong ? (
          <TextArea {...common} onInput={(event) => set(event.currentTarget.value)} />
        ) : (
          <TextInput {...common} onInput={(event) => set(event.currentTarget.value)} />
        )
      }}
    </Field>
  )
}

interface ChoicesProps {
  readonly label: string
  readonly hint: string | undefined
  readonly choices: readonly unknown[]
  readonly text: string
  readonly set: (text: string) => void
}

/** A few choices are all visible, as buttons of one group. */
function Choices({ label, hint, choices, text, set }: ChoicesProps) {
  const name = useId()
  return (
    <fieldset className={styles.choices}>
      <legend>{label}</legend>
      <div className={styles.options}>
        {choices.map((choice) => {
          const value = JSON.stringify(choice)
          const word = typeof choice === "boolean" ? (choice ? "Yes" : "No") : String(choice)
          return (
            <label key={value} className={styles.option}>
              <input
                type="radio"
                name={name}
                value={value}
                checked={text === value}
                onChange={() => set(value)}
              />
              {word}
            </label>
          )
        })}
      </div>
      {hint !== undefined && <p className={styles.hint}>{hint}</p>}
    </fieldset>
  )
}
