import { t } from '../words/language.js';

/** An error in one line, which opens what there is more of it. */
export function ErrorButton({
  error,
  isOpen,
  onClick,
}: {
  readonly error: { readonly name: string; readonly message: string } | undefined;
  readonly isOpen: boolean;
  readonly onClick: () => void;
}) {
  const parts = error && [error.name, error.message].filter((part) => part !== '');
  const text = parts?.join(': ');
  return (
    <button class="plain error" title={text} aria-expanded={isOpen} onClick={onClick}>
      {text ? (
        <>
          <b>{parts![0]}</b>
          {text.slice(parts![0]!.length)}
        </>
      ) : (
        <span class="faint">{t('dead.noError')}</span>
      )}
    </button>
  );
}
