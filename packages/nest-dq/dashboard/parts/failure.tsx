import { RequestError } from '../server/requests.js';

/** An error with its code. */
export function Failure({ error }: { readonly error: Error }) {
  const code = error instanceof RequestError ? error.code : error.name;
  return (
    <p class="failure" role="alert">
      <b class="mono">{code}</b> {error.message}
    </p>
  );
}
