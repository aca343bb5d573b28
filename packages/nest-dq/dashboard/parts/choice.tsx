/** One of a few, side by side. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: Value | undefined;
  readonly options: readonly { readonly value: Value; readonly name: string }[];
  readonly onChange: (value: Value) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map((each) => (
        <button
          key={each.value}
          type="button"
          aria-pressed={each.value === value}
          onClick={() => onChange(each.value)}
        >
          {each.name}
        </button>
      ))}
    </div>
  );
}
