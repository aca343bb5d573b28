const WIDTH = 96;
const HEIGHT = 24;
/** So that one among many is still seen. */
const LOWEST = 2;

/** Bars of numbers over time, without axes. */
export function Trend({ label, values }: { readonly label: string; readonly values: readonly number[] }) {
  const highest = Math.max(1, ...values);
  const step = WIDTH / values.length;
  return (
    <svg class="trend" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <title>{label}</title>
      <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {values.map((value, i) => {
        const height = value === 0 ? 0 : Math.max(LOWEST, (value / highest) * (HEIGHT - 2));
        return <rect key={i} x={i * step} width={step - 1} y={HEIGHT - 1 - height} height={height} />;
      })}
    </svg>
  );
}
