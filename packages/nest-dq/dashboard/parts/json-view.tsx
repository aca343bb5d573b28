import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

/** Levels that are open at first. */
const OPEN_LEVELS = 3;
/** Entries of one object or array shown at first, and added by each click. */
const STEP = 100;

/** A JSON value as a tree whose branches open and close. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <div class="code json" role="group" aria-label={label} tabIndex={0}>
      <Node value={value} level={0} comma="" />
    </div>
  );
}

interface NodeProps {
  /** Its name, if it's in an object. */
  readonly name?: string | undefined;
  readonly value: unknown;
  readonly level: number;
  /** Follows it: empty after the last entry. */
  readonly comma: string;
}

function Node({ name, value, level, comma }: NodeProps) {
  const label = name !== undefined && (
    <>
      <span class="json-name">{JSON.stringify(name)}</span>
      {': '}
    </>
  );
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    return <Branch label={label} value={value} level={level} comma={comma} />;
  return (
    <div class="json-leaf">
      {label}
      <span class={`json-${value === null ? 'null' : typeof value}`}>{JSON.stringify(value)}</span>
      {comma}
    </div>
  );
}

function Branch({
  label,
  value,
  level,
  comma,
}: {
  readonly label: ComponentChildren;
  readonly value: object;
  readonly level: number;
  readonly comma: string;
}) {
  const [open, setOpen] = useState(level < OPEN_LEVELS);
  const [most, setMost] = useState(STEP);
  const isArray = Array.isArray(value);
  const entries = Object.entries(value);
  const [begin, end] = isArray ? ['[', ']'] : ['{', '}'];
  const last = entries.length - 1;
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        {begin}
        {!open && (
          <>
            <span class="faint"> {count(entries.length)} </span>
            {end}
            {comma}
          </>
        )}
      </summary>
      {open && (
        <>
          <div class="json-inside">
            {entries.slice(0, most).map(([name, each], i) => (
              <Node
                key={name}
                name={isArray ? undefined : name}
                value={each}
                level={level + 1}
                comma={i < last ? ',' : ''}
              />
            ))}
            {entries.length > most && (
              <button class="plain" onClick={() => setMost(most + STEP)}>
                {t('json.more', { entries: count(entries.length - most) })}
              </button>
            )}
          </div>
          {end}
          {comma}
        </>
      )}
    </details>
  );
}
