/** A share of the whole as a bar. */
export function ShareBar({ share }: { readonly share: number }) {
  return (
    <div class="share-bar" aria-hidden="true">
      <div class="rate-fill" style={{ width: `${100 * share}%` }} />
    </div>
  );
}
