"""The child process that decodes Draco meshes: run as a script, `python -I -S draco_child.py REQUEST < streams`.

REQUEST is a JSON object: path (of imports), memory (bytes) and seconds (CPU). Each stream on the standard input follows
its length in 8 bytes. The answer is an .npz: "reasons", what was wrong with each stream or "", and per stream N its
attributes by their unique number ("N.a0" …) and "N.faces".
"""

import json
import struct
import sys


def limit(request):
    """Set operating system limits on this process, where supported."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_CORE", 0), ("RLIMIT_CPU", request["seconds"]), ("RLIMIT_DATA", request["memory"])):
        try:
            which = getattr(resource, name)
            most = resource.getrlimit(which)[1]
            resource.setrlimit(which, (value if most == resource.RLIM_INFINITY else min(value, most), most))
        except (AttributeError, ValueError, OSError):
            continue


def main():
    """Decode every stream and write one answer."""
    request = json.loads(sys.argv[1])
    sys.path[:] = request["path"]
    limit(request)
    import DracoPy
    import numpy as np

    data, place, reasons, arrays = sys.stdin.buffer.read(), 0, [], {}
    while place < len(data):
        (size,) = struct.unpack_from("<Q", data, place)
        stream, number = data[place + 8 : place + 8 + size], len(reasons)
        place += 8 + size
        try:
            mesh = DracoPy.decode(stream)
            faces = getattr(mesh, "faces", None)
            if faces is None or not len(faces):
                reasons.append("has no triangles")
                continue
            arrays[f"{number}.faces"] = np.asarray(faces)
            for attribute in mesh.attributes:
                values = np.asarray(attribute["data"])
                arrays[f"{number}.a{attribute['unique_id']}"] = values.reshape(len(values), -1)
            reasons.append("")
        except MemoryError:
            reasons.append("takes more memory than a file of this size may")
        except Exception as error:
            reasons.append(f"cannot be decoded ({(str(error) or 'no reason given').splitlines()[0][:100]})")
    arrays["reasons"] = np.array(reasons or [""], dtype=str)
    np.savez(sys.stdout.buffer, **arrays)


if __name__ == "__main__":
    main()
