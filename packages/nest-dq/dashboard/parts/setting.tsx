import type { ComponentChildren } from 'preact';

/** A choice that the viewer makes for this browser. */
export function Setting<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly name: ComponentChildren }[];
  readonly onChange: (value: Value) => void;
}) {
  return (
    <label class="setting">
      <span class="label">{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) => onChange(options[currentTarget.selectedIndex]!.value)}
      >
        {options.map((each) => (
          <option key={each.value} value={each.value}>
            {each.name}
          </option>
        ))}
      </select>
    </label>
  );
}
