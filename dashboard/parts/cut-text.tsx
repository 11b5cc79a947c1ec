/** A text of a table that may be very long: cut, and whole when it is pointed at. */
export function CutText({ text }: { readonly text: string }) {
  if (text === "") return <>–</>;
  return (
    <span class="row-reason" title={text}>
      {text}
    </span>
  );
}
