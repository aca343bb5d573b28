import { t } from '../words/language.js';
import { CopyButton } from './copy-button.js';

interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** An error in one line, which opens if there is more to it. */
export function ErrorLine({ error }: { readonly error: ErrorParts }) {
  const { name, message, stack } = error;
  return (
    <details class="error-line">
      <summary>
        <b>{name}</b>: {message}
      </summary>
      {stack !== undefined && (
        <pre class="code" tabIndex={0} aria-label={t('dead.stack')}>
          {stack}
        </pre>
      )}
      <CopyButton text={stack ?? `${name}: ${message}`} what={t('dead.error')} />
    </details>
  );
}
