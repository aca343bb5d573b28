import { useEffect, useState } from 'preact/hooks';
import { t } from '../words/language.js';

/** How long it says that it copied, in ms. */
const SAID_MS = 1_500;

/** Copies a text. `what` names it for screen readers, since there are many such buttons. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => setCopied(await copyText(text));
  const label = t(copied ? 'copy.done' : 'copy.what', { what });
  return (
    <button class="copy" aria-label={label} title={label} onClick={() => void copy()}>
      <span aria-live="polite">{t(copied ? 'copy.copied' : 'copy.copy')}</span>
    </button>
  );
}

/** Resolves with whether the browser allowed it. The clipboard needs HTTPS or localhost; elsewhere an older command does it. */
async function copyText(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'unseen';
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
