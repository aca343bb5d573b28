import { useEffect, useRef } from 'preact/hooks';
import { useTypedText } from './typed-text.js';

/** Without a key for this long, what was typed counts. */
const PAUSE_MS = 400;

/** A field that filters a list while one types. */
export function TypedFilter({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  /** Called once for each text; undefined for none. */
  readonly onChange: (text: string | undefined) => void;
}) {
  const input = useTypedText(value ?? '');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = () => {
    clearTimeout(timer.current);
    const text = input.current?.value || undefined;
    if (text !== value) onChange(text);
  };
  return (
    <input
      ref={input}
      type="search"
      aria-label={label}
      placeholder={label}
      onInput={() => {
        clearTimeout(timer.current);
        timer.current = setTimeout(apply, PAUSE_MS);
      }}
      onChange={apply}
    />
  );
}
