/** Inputs with their labels, hints and problems. */
import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId } from "react"
import styles from "./field.module.css"
import { Icon } from "./icon.tsx"

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly problem?: string | undefined
  readonly children: (props: { readonly id: string; readonly "aria-describedby"?: string }) => ReactNode
}

export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId()
  const about = `${id}-about`
  const hasAbout = hint !== undefined || problem !== undefined
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children({ id, ...(hasAbout && { "aria-describedby": about }) })}
      {hasAbout && (
        <div id={about} className={problem === undefined ? styles.hint : styles.problem}>
          {problem ?? hint}
        </div>
      )}
    </div>
  )
}

/** The browser honours `autofocus` once in the life of a page, and when a dialog opens; this does each time. */
export function focus(element: HTMLElement | null): void {
  element?.focus()
}

export function TextInput(props: InputHTMLAttributes<HTMLInputElement>) {
  return <input {...props} ref={props.autoFocus ? focus : undefined} className={styles.input} />
}

export function TextArea({
  isCode = false,
  ...props
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { readonly isCode?: boolean }) {
  return (
    <textarea
      rows={3}
      {...props}
      ref={props.autoFocus ? focus : undefined}
      className={`${styles.input} ${styles.area} ${isCode ? styles.code : ""}`}
    />
  )
}

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, label: string])[]
  readonly onChange: (value: string) => void
  readonly id?: string
  /** Marks a filter that is set. */
  readonly isSet?: boolean
}

export function Select({ label, value, options, onChange, id, isSet = false }: SelectProps) {
  return (
    <span className={`${styles.select} ${isSet ? styles.set : ""}`}>
      <select
        id={id}
        aria-label={id === undefined ? label : undefined}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      <Icon name="down" size={12} />
    </span>
  )
}

export function SearchInput(props: InputHTMLAttributes<HTMLInputElement> & { readonly label: string }) {
  const { label, ...rest } = props
  return (
    <span className={styles.search}>
      <Icon name="search" size={14} />
      <input type="search" aria-label={label} spellCheck={false} {...rest} className={styles.input} />
    </span>
  )
}
