import { fieldText, fromField } from '../figures/times.js';
import { t } from '../words/language.js';

/** From when to when, by the viewer's clock; the values are ISO texts. They stand in one line where there is room for both. */
export function TimeFields({
  from,
  to,
  onChange,
}: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly onChange: (changed: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  }) => void;
}) {
  return (
    <span class="fields">
      <Field label={t('timeline.from')} value={from} onChange={(each) => onChange({ from: each })} />
      <Field label={t('timeline.to')} value={to} onChange={(each) => onChange({ to: each })} />
    </span>
  );
}

function Field({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (iso: string | undefined) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        step={1}
        value={fieldText(value)}
        onChange={({ currentTarget }) => onChange(fromField(currentTarget.value))}
      />
    </label>
  );
}
